/* Names outside messages: as keys, as text, and their labels. See dns_message.h. */
#include "apps/dns64/message/dns_message.h"

#include "kernel/lib/fmt.h"

uint32_t dns_labels(const uint8_t *name)
{
	uint32_t n = 0;
	for (; *name; name += *name + 1u)
		n++;
	return n;
}

uint32_t dns_tail(const uint8_t *name, uint32_t n_labels)
{
	uint32_t have = dns_labels(name), len = 1;
	if (have < n_labels)
		return 0;
	for (; have > n_labels; have--)
		name += *name + 1u;
	for (; *name; name += *name + 1u)
		len += *name + 1u;
	return len;
}

void dns_key_set(struct dns_key *key, const uint8_t *name, uint32_t len)
{
	uint32_t whole = len / 4, rest = len % 4;
	key->len = len;
	for (uint32_t i = 0; i < whole; i++)
		key->word[i] = dns_lower4(load32(name + 4 * i));
	if (rest) {
		uint32_t w = 0;
		memcpy(&w, name + 4 * whole, rest);
		key->word[whole] = dns_lower4(w);
	}
}

char *dns_name_text(char *buf, size_t size, const uint8_t *name)
{
	size_t n = 0;
	if (*name == 0)
		n += fmt(buf + n, size - n, ".");
	for (; *name; name += *name + 1u) {
		for (uint32_t i = 1; i <= *name; i++) {
			uint8_t c = name[i];
			bool plain = c > ' ' && c <= '~' && c != '.' && c != '\\';
			n += plain ? fmt(buf + n, size - n, "%c", c)
			           : fmt(buf + n, size - n, "\\%u%u%u", c / 100u, c / 10u % 10u,
			                 c % 10u);
		}
		n += fmt(buf + n, size - n, ".");
	}
	return buf;
}

uint32_t dns_name_of_text(uint8_t out[DNS_NAME_MAX], const char *text)
{
	uint32_t len = 0;
	while (*text) {
		uint32_t n = 0;
		while (text[n] && text[n] != '.')
			n++;
		if (n == 0 || n > DNS_LABEL_MAX || n + 1 > DNS_NAME_MAX - 1 - len)
			return 0;
		out[len] = (uint8_t)n;
		memcpy(out + len + 1, text, n);
		len += n + 1;
		text += n + (text[n] == '.');
	}
	out[len] = 0;
	return len + 1;
}
