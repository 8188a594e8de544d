/* A stand-in for the boot medium: it says that there is none. */
#include "drivers/block/media.h"

__attribute__((weak)) bool media_init(const char *stick, const char *conf, size_t len)
{
	(void)stick;
	(void)conf;
	(void)len;
	return true;
}

__attribute__((weak)) bool media_save(const char *file, const char *text, size_t len)
{
	(void)file;
	(void)text;
	(void)len;
	return false;
}

__attribute__((weak)) enum media_save_state media_save_state(const char **message)
{
	*message = "there is no boot medium";
	return MEDIA_SAVE_FAILED;
}

__attribute__((weak)) bool media_poll(uint64_t now_us)
{
	(void)now_us;
	return false;
}
