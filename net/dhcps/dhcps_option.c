/* See dhcps_option.h. */
#include "net/dhcps/dhcps_option.h"

#include "kernel/config/config_word.h"
#include "kernel/lib/addr.h"
#include "net/dhcp/dhcp_message.h"

enum form {
	FORM_GUESS,
	FORM_OURS,
	FORM_ADDRESSES,
	FORM_TEXT,
	FORM_8,
	FORM_16,
	FORM_32,
	FORM_NAMES,
	FORM_ROUTES
};

/* By code; what is not named is guessed. FORM_OURS: the server makes it itself. */
static const uint8_t form_of[256] = {
        [DHCP_MASK] = FORM_OURS,
        [DHCP_LEASE_TIME] = FORM_OURS,
        [DHCP_OVERLOAD] = FORM_OURS,
        [DHCP_TYPE] = FORM_OURS,
        [DHCP_SERVER_ID] = FORM_OURS,
        [DHCP_PARAMETERS] = FORM_OURS,
        [DHCP_ADDRESS] = FORM_OURS,
        [DHCP_MAX_SIZE] = FORM_OURS,
        [DHCP_CLIENT_ID] = FORM_OURS,
        [DHCP_MESSAGE] = FORM_OURS,
        [DHCP_AGENT] = FORM_OURS,
        [DHCP_V6ONLY] = FORM_OURS,
        [DHCP_PAD] = FORM_OURS,
        [DHCP_END] = FORM_OURS,
        [DHCP_RAPID_COMMIT] = FORM_OURS,
        [DHCP_HOST_NAME] = FORM_OURS,
        [DHCP_FQDN] = FORM_OURS,
        [DHCP_ROUTER] = FORM_ADDRESSES,
        [4] = FORM_ADDRESSES,
        [DHCP_DNS] = FORM_ADDRESSES,
        [7] = FORM_ADDRESSES,
        [9] = FORM_ADDRESSES,
        [DHCP_BROADCAST_ADDRESS] = FORM_ADDRESSES,
        [DHCP_STATIC_ROUTES] = FORM_ADDRESSES,
        [DHCP_NTP] = FORM_ADDRESSES,
        [44] = FORM_ADDRESSES,
        [45] = FORM_ADDRESSES,
        [69] = FORM_ADDRESSES,
        [70] = FORM_ADDRESSES,
        [150] = FORM_ADDRESSES,
        [DHCP_DOMAIN] = FORM_TEXT,
        [17] = FORM_TEXT,
        [DHCP_VENDOR_CLASS] = FORM_TEXT,
        [DHCP_TFTP_SERVER] = FORM_TEXT,
        [DHCP_BOOT_FILE] = FORM_TEXT,
        [DHCP_PORTAL] = FORM_TEXT,
        [19] = FORM_8,
        [23] = FORM_8,
        [46] = FORM_8,
        [DHCP_MTU] = FORM_16,
        [2] = FORM_32,
        [35] = FORM_32,
        [DHCP_T1] = FORM_32,
        [DHCP_T2] = FORM_32,
        [DHCP_SEARCH] = FORM_NAMES,
        [DHCP_CLASSLESS] = FORM_ROUTES,
};

/* The next word; commas separate words too. */
static struct slice next_word(struct slice *text)
{
	struct slice word;
	while (text->len > 0 && (*text->at == ',' || *text->at == ' ' || *text->at == '\t')) {
		text->at++;
		text->len--;
	}
	word = (struct slice){text->at, 0};
	while (word.len < text->len && word.at[word.len] != ',' && word.at[word.len] != ' ' &&
	       word.at[word.len] != '\t')
		word.len++;
	text->at += word.len;
	text->len -= word.len;
	return word;
}

static const char *addresses(struct slice text, uint8_t *out, uint32_t *len)
{
	struct slice word;
	ip4 a;
	while ((word = next_word(&text)).len > 0) {
		if (!addr_ip4(word.at, word.len, &a))
			return "expected IPv4 addresses";
		if (*len + sizeof a > DHCPS_OPTION_VALUE)
			return "too long";
		memcpy(out + *len, &a, sizeof a);
		*len += sizeof a;
	}
	return *len ? NULL : "expected IPv4 addresses";
}

static const char *number(struct slice text, uint32_t bytes, uint8_t *out, uint32_t *len)
{
	uint32_t value;
	if (!addr_u32(text.at, text.len, &value) || (bytes < 4 && value >> (8 * bytes) != 0))
		return "expected a number that the option has room for";
	for (uint32_t i = 0; i < bytes; i++)
		out[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
	*len = bytes;
	return NULL;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *hex(struct slice text, uint8_t *out, uint32_t *len)
{
	if (text.len == 0 || text.len % 2 || text.len / 2 > DHCPS_OPTION_VALUE)
		return "expected hexadecimal digits, two a byte";
	for (size_t i = 0; i < text.len; i += 2) {
		int high = digit_of(text.at[i]), low = digit_of(text.at[i + 1]);
		if (high < 0 || low < 0)
			return "expected hexadecimal digits, two a byte";
		out[(*len)++] = (uint8_t)(high << 4 | low);
	}
	return NULL;
}

uint32_t dhcps_option_labels(const char *name, size_t n, uint8_t *out, uint32_t room)
{
	uint32_t len = 0;
	if (n > 0 && name[n - 1] == '.')
		n--;
	for (size_t at = 0, end; at < n; at = end + 1) {
		for (end = at; end < n && name[end] != '.';)
			end++;
		if (end == at || end - at > 63 || len + (end - at) + 2 > room || end + 1 == n)
			return 0;
		out[len++] = (uint8_t)(end - at);
		memcpy(out + len, name + at, end - at);
		len += (uint32_t)(end - at);
	}
	if (len == 0 || len > 254)
		return 0;
	out[len++] = 0;
	return len;
}

static const char *names(struct slice text, uint8_t *out, uint32_t *len)
{
	struct slice word;
	while ((word = next_word(&text)).len > 0) {
		uint32_t n = dhcps_option_labels(word.at, word.len, out + *len,
		                                 DHCPS_OPTION_VALUE - *len);
		if (n == 0)
			return "expected domain names";
		*len += n;
	}
	return *len ? NULL : "expected domain names";
}

/* RFC 3442: the length of a prefix, those of its bytes that count, the router. */
static const char *routes(struct slice text, uint8_t *out, uint32_t *len)
{
	struct slice to;
	while ((to = next_word(&text)).len > 0) {
		struct slice word = next_word(&text), via = next_word(&text);
		struct prefix p;
		ip4 router;
		if (!addr_prefix(to.at, to.len, &p) || p.addr.is6 || !config_word_is(word, "via") ||
		    !addr_ip4(via.at, via.len, &router))
			return "expected PREFIX via ADDRESS";
		ip4 net = ip4_of(ip4_get(p.addr.v4) & addr_mask4(p.len));
		uint32_t n = (p.len + 7u) / 8;
		if (*len + 1 + n + sizeof router > DHCPS_OPTION_VALUE)
			return "too long";
		out[(*len)++] = p.len;
		memcpy(out + *len, &net, n);
		memcpy(out + *len + n, &router, sizeof router);
		*len += n + (uint32_t)sizeof router;
	}
	return *len ? NULL : "expected PREFIX via ADDRESS";
}

static const char *as_text(struct slice text, uint8_t *out, uint32_t *len)
{
	if (text.len == 0 || text.len > DHCPS_OPTION_VALUE)
		return "expected a text";
	memcpy(out, text.at, text.len);
	*len = (uint32_t)text.len;
	return NULL;
}

const char *dhcps_option_encode(uint8_t code, const char *value, uint8_t out[DHCPS_OPTION_VALUE],
                                uint32_t *len)
{
	struct slice text = {value, strlen(value)};
	*len = 0;
	if (form_of[code] == FORM_OURS)
		return "the server makes this option itself";
	if (text.len > 4 && memcmp(value, "hex:", 4) == 0)
		return hex((struct slice){value + 4, text.len - 4}, out, len);
	switch (form_of[code]) {
	case FORM_ADDRESSES:
		return addresses(text, out, len);
	case FORM_8:
		return number(text, 1, out, len);
	case FORM_16:
		return number(text, 2, out, len);
	case FORM_32:
		return number(text, 4, out, len);
	case FORM_NAMES:
		return names(text, out, len);
	case FORM_ROUTES:
		return routes(text, out, len);
	case FORM_TEXT:
		return as_text(text, out, len);
	default:
		if (!addresses(text, out, len))
			return NULL;
		*len = 0;
		return as_text(text, out, len);
	}
}
