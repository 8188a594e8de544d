/* See storage_sense.h. */
#include "drivers/usb/storage/storage_sense.h"

enum { NO_SENSE, RECOVERED, NOT_READY, MEDIUM_ERROR, HARDWARE_ERROR, ILLEGAL, ATTENTION, PROTECT };

struct storage_sense storage_sense_read(const uint8_t *data, uint32_t len)
{
	struct storage_sense s = {0};
	uint8_t d[STORAGE_SENSE_BYTES] = {0};
	memcpy(d, data, min_u32(len, sizeof d));
	switch (d[0] & 0x7f) {
	case 0x70: /* fixed format; 0x71: about an earlier command */
	case 0x71:
		s = (struct storage_sense){d[2] & 0xf, d[12], d[13]};
		break;
	case 0x72: /* descriptor format */
	case 0x73:
		s = (struct storage_sense){d[1] & 0xf, d[2], d[3]};
		break;
	default:
		s.key = HARDWARE_ERROR; /* no sense data at all */
	}
	return s;
}

static enum storage_cause not_ready(struct storage_sense s)
{
	if (s.code == 0x3a)
		return STORAGE_EMPTY;
	if (s.code == 0x04 && s.more == 0x02)
		return STORAGE_START;
	return STORAGE_NOT_YET;
}

enum storage_cause storage_sense_cause(struct storage_sense s)
{
	switch (s.key) {
	case NO_SENSE:
	case RECOVERED:
		return STORAGE_NONE;
	case NOT_READY:
		return not_ready(s);
	case ATTENTION:
		return s.code == 0x28   ? STORAGE_CHANGED
		       : s.code == 0x3a ? STORAGE_EMPTY
		                        : STORAGE_AGAIN;
	case ILLEGAL:
		return s.code == 0x20 || s.code == 0x24 ? STORAGE_UNKNOWN : STORAGE_ERROR;
	case PROTECT:
		return s.code == 0x27 && s.more == 0x07 ? STORAGE_USED_UP : STORAGE_PROTECTED;
	default:
		return STORAGE_ERROR;
	}
}
