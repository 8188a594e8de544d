/* See multiboot2.h. Section numbers are those of the specification 2.0.
 *
 * Left out on purpose: tags that nothing here needs (ELF sections, APM, VBE, SMBIOS, network, EFI
 * tables). */
#include "kernel/board/multiboot2.h"

enum { HEAD = 8 }; /* bytes before the first tag, and of a tag's type and size (3.6.1, 3.6.2) */
enum { TAG_END, TAG_CMDLINE, TAG_LOADER, TAG_MODULE, TAG_MEMORY, TAG_MAP = 6, TAG_FRAME = 8 };
enum { TAG_ACPI_OLD = 14, TAG_ACPI_NEW = 15 };

/* Gives the text at offset `at` of a tag, or "" when it does not end within the tag. */
static const char *text(const uint8_t *tag, size_t size, size_t at)
{
	if (at >= size || !memchr(tag + at, 0, size - at))
		return "";
	return (const char *)tag + at;
}

static void module(struct multiboot_info *info, const uint8_t *tag, size_t size)
{
	if (size < 16)
		return;
	if (info->n_modules == MULTIBOOT_MODULES) {
		info->more_modules = true;
		return;
	}
	info->module[info->n_modules++] =
	        (struct multiboot_module){load32(tag + 8), load32(tag + 12), text(tag, size, 16)};
}

/* Reads the memory map (3.6.8). Its entries have at least 20 bytes that are used. */
static void map(struct multiboot_info *info, const uint8_t *tag, size_t size)
{
	if (size < 16 || load32(tag + 8) < 20)
		return;
	info->map = tag + 16;
	info->map_len = size - 16;
	info->map_entry = load32(tag + 8);
}

/* Takes one tag. Of the two ACPI tags the newer one counts, whose root pointer has 64 bits
 * (3.6.14, 3.6.15). */
static void take(struct multiboot_info *info, const uint8_t *tag, size_t size)
{
	switch (load32(tag)) {
	case TAG_CMDLINE:
		info->cmdline = text(tag, size, HEAD);
		break;
	case TAG_LOADER:
		info->loader = text(tag, size, HEAD);
		break;
	case TAG_MODULE:
		module(info, tag, size);
		break;
	case TAG_MEMORY:
		if (size >= 16)
			info->mem_upper = load32(tag + 12);
		break;
	case TAG_MAP:
		map(info, tag, size);
		break;
	case TAG_FRAME:
		if (size >= HEAD + MULTIBOOT_FRAME)
			multiboot_frame(&info->frame, tag + HEAD);
		break;
	case TAG_ACPI_OLD:
	case TAG_ACPI_NEW:
		if (info->rsdp && load32(tag) == TAG_ACPI_OLD)
			break;
		info->rsdp = tag + HEAD;
		info->rsdp_len = size - HEAD;
		break;
	default:
		break;
	}
}

void multiboot2_read(struct multiboot_info *info, const uint8_t *block, size_t len)
{
	*info = (struct multiboot_info){.loader = "", .cmdline = ""};
	size_t at = HEAD;
	while (at < len && len - at >= HEAD) {
		const uint8_t *tag = block + at;
		size_t size = load32(tag + 4);
		if (load32(tag) == TAG_END || size < HEAD || size > len - at)
			return;
		take(info, tag, size);
		at += (size + 7) & ~(size_t)7; /* tags are aligned (3.6.2) */
	}
}
