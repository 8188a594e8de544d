SRC_IMAGE += boot/entry.S
