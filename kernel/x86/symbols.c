/* See symbols.h. */
#include "kernel/x86/symbols.h"

#include "kernel/x86/image.h"

/* Does not exist in the first linking, hence weak. */
extern const struct symbols symbols_image __attribute__((weak));

const char *symbols_name(uint32_t at, uint32_t *offset)
{
	if (at < (uintptr_t)image_start || at >= (uintptr_t)image_text_end)
		return NULL;
	return symbols_find(&symbols_image, at, offset);
}
