/* See sntp_message.h. */
#include "net/sntp/sntp_message.h"

#define CLIENT      3u
#define SERVER      4u
#define VERSION     4u
#define NOT_SYNCED  3u           /* leap indicator: the server's clock is not set */
#define STRATA      15u          /* servers with the time have 1 to 15 */
#define TO_1970     2208988800u  /* seconds from 1900 */
#define ERA         (1ull << 32) /* seconds */
#define ORIGIN_AT   24u
#define TRANSMIT_AT 40u

void sntp_write(uint8_t out[static SNTP_BYTES], const uint8_t stamp[static SNTP_STAMP])
{
	memset(out, 0, SNTP_BYTES);
	out[0] = VERSION << 3 | CLIENT;
	memcpy(out + TRANSMIT_AT, stamp, SNTP_STAMP);
}

static uint32_t get32(const uint8_t *at)
{
	return swap32(load32(at));
}

/* RFC 5905 section 7.4. Other codes say only that there is no time. */
static enum sntp_kind kiss(const uint8_t code[4])
{
	if (memcmp(code, "DENY", 4) == 0 || memcmp(code, "RSTR", 4) == 0)
		return SNTP_DENIED;
	return memcmp(code, "RATE", 4) == 0 ? SNTP_SLOWER : SNTP_BAD;
}

enum sntp_kind sntp_read(const uint8_t *data, uint32_t len, const uint8_t stamp[static SNTP_STAMP],
                         uint64_t *unix_us)
{
	if (len < SNTP_BYTES)
		return SNTP_BAD;
	uint32_t version = data[0] >> 3 & 7, stratum = data[1];
	/* A forged answer does not know the question. */
	if (memcmp(data + ORIGIN_AT, stamp, SNTP_STAMP) != 0)
		return SNTP_NOT_OURS;
	if ((data[0] & 7) != SERVER || version == 0 || version > VERSION)
		return SNTP_BAD;
	if (stratum == 0)
		return kiss(data + 12);
	uint64_t s = get32(data + TRANSMIT_AT), part = get32(data + TRANSMIT_AT + 4);
	if (stratum > STRATA || data[0] >> 6 == NOT_SYNCED || (s | part) == 0)
		return SNTP_BAD;
	if (!(s >> 31))
		s += ERA;
	*unix_us = s < TO_1970 ? 0 : (s - TO_1970) * 1000000 + (part * 1000000 >> 32);
	return *unix_us ? SNTP_TIME : SNTP_BAD;
}
