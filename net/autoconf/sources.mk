SRC += net/autoconf/autoconf.c
SRC += net/autoconf/autoconf_heard.c
SRC += net/autoconf/autoconf_show.c
SRC += net/autoconf/autoconf_solicit.c
SRC += net/autoconf/autoconf_table.c
