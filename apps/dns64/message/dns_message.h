/* DNS messages as bytes (RFC 1035 section 4, RFC 6891 for OPT): they are read with every offset
 * checked, and written within a limit. Nothing here knows how a message travels.
 *
 * Reading changes nothing and copies nothing: a record is a set of offsets. A name is followed
 * through compression pointers only backwards, to labels that end before the name that points to
 * them, and only a limited number of times. So reading ends for any message.
 *
 * Writing copies records from messages that were read. A name is compressed in the answer if it was
 * compressed in its source: names that shared their bytes there share them again, and no text is
 * compared.
 *
 * Left out on purpose: names as text in questions (keys are in wire form), TSIG and SIG(0) (records
 * like others), DNSSEC (we do not validate). */
#ifndef APPS_DNS64_MESSAGE_DNS_MESSAGE_H
#define APPS_DNS64_MESSAGE_DNS_MESSAGE_H

#include "kernel/lib/bytes.h"

enum { DNS_HEADER = 12, DNS_NAME_MAX = 255, DNS_LABEL_MAX = 63, DNS_PLAIN = 512 };
/* The UDP payload size that we announce in OPT, to servers and to clients. */
enum { DNS_EDNS_SIZE = 1232 };
enum { DNS_RR_FIXED = 10, DNS_QUESTION_FIXED = 4, DNS_OPT_BYTES = 11 };

struct dns_header {
	be16 id;
	be16 flags;
	be16 count[4]; /* by section */
};
_Static_assert(sizeof(struct dns_header) == DNS_HEADER, "DNS header");

enum dns_section { DNS_QD, DNS_AN, DNS_NS, DNS_AR, DNS_SECTIONS };

enum {
	DNS_QR = 0x8000,
	DNS_OPCODE = 0x7800,
	DNS_AA = 0x0400,
	DNS_TC = 0x0200,
	DNS_RD = 0x0100,
	DNS_RA = 0x0080,
	DNS_Z = 0x0040,
	DNS_AD = 0x0020,
	DNS_CD = 0x0010,
	DNS_RCODE = 0x000f,
};
enum { DNS_OPTION_KEEP_ALIVE = 11 }; /* RFC 7828 */
enum { DNS_OPT_DO = 0x8000 };        /* in the flags of OPT (RFC 3225) */

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16, /* the upper bits are in OPT */
};

enum {
	DNS_TYPE_A = 1,
	DNS_TYPE_NS = 2,
	DNS_TYPE_CNAME = 5,
	DNS_TYPE_SOA = 6,
	DNS_TYPE_PTR = 12,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_DNAME = 39,
	DNS_TYPE_OPT = 41,
	DNS_TYPE_DS = 43,
	DNS_TYPE_SIG = 24,
	DNS_TYPE_RRSIG = 46,
	DNS_TYPE_TSIG = 250,
	DNS_TYPE_IXFR = 251,
	DNS_TYPE_AXFR = 252,
	DNS_TYPE_ANY = 255,
};
enum { DNS_CLASS_IN = 1 };

/* A message to read. */
struct dns_view {
	const uint8_t *at;
	uint32_t len;
};

/* A record: offsets into its message. The fixed part (type, class, TTL, length) ends where the data
 * begin. */
struct dns_rr {
	uint32_t owner;
	uint32_t data;
	uint32_t end;
	uint32_t ttl;
	uint32_t type, class, data_len; /* 16 bits in the message */
};

/* Where the parts of a message are, and what its OPT record says. */
struct dns_layout {
	uint32_t question_end;
	uint32_t section[DNS_SECTIONS]; /* where each begins; QD after the header */
	uint32_t end;
	uint32_t name_len; /* of the first question's name; 0 without a question */
	uint16_t qtype, qclass;
	uint16_t count[DNS_SECTIONS];
	uint16_t n_opt;      /* OPT records */
	uint16_t before_opt; /* records of the additional section before the first one */
	struct dns_rr opt;   /* the first one */
	struct dns_rr soa;   /* the first SOA record of the authority section; end 0: none */
	uint32_t far; /* the highest offset that a pointer leads to; 0: there is no pointer */
	uint32_t ttl_least, ttl_most; /* of all records but OPT; UINT32_MAX and 0 without records */
};

static inline uint16_t dns_get16(const uint8_t *at)
{
	return swap16(load16(at));
}

static inline uint32_t dns_get32(const uint8_t *at)
{
	return swap32(load32(at));
}

static inline void dns_put16(uint8_t *at, uint32_t v)
{
	store16(at, swap16((uint16_t)v));
}

static inline void dns_put32(uint8_t *at, uint32_t v)
{
	store32(at, swap32(v));
}

static inline const struct dns_header *dns_header_of(struct dns_view m)
{
	return (const struct dns_header *)m.at;
}

/* --- reading --------------------------------------------------------------------- */

/* The offset after the name at `at` (a pointer ends it); 0: it does not end within the message.
 * Pointers are not followed. */
uint32_t dns_skip_name(struct dns_view m, uint32_t at);

/* The offset after the name at `at`, with pointers followed; 0: it is no name of at most 255
 * bytes. */
uint32_t dns_check_name(struct dns_view m, uint32_t at);

/* Reads the name at `at` into `out`, without compression, and its length into *out_len. Gives the
 * offset after it in the message; 0: it is no name, and `out` is not defined. */
uint32_t dns_read_name(struct dns_view m, uint32_t at, uint8_t out[DNS_NAME_MAX],
                       uint32_t *out_len);

/* True when two well-formed names are the same; upper and lower case are equal (RFC 4343). */
bool dns_same_name(struct dns_view a, uint32_t at_a, struct dns_view b, uint32_t at_b);

/* Reads the record at `at`: its fixed part and where it ends. False: it is not whole within the
 * message. Its names are not checked. */
bool dns_read_rr(struct dns_view m, uint32_t at, struct dns_rr *rr) MUST_USE;

/* Checks a whole message: its header, the questions and records that the counts announce, with
 * every name in them, and that nothing follows. False: something is wrong; l->end is then 0, unless
 * the only error is that something follows. Questions with a compressed name are refused: no name
 * stands before them that a pointer could lead to. */
bool dns_parse(struct dns_view m, struct dns_layout *l) MUST_USE;

/* As dns_parse, for a message whose one question is known to be well-formed, with a name of
 * name_len bytes. */
bool dns_parse_rest(struct dns_view m, uint32_t name_len, struct dns_layout *l) MUST_USE;

/* True when the names of a message, of which dns_parse set `end`, are names whatever its TTLs are:
 * a pointer may lead into a TTL, which changes while an answer is kept. `room` is memory for the
 * message, which may be copied to it. */
bool dns_names_stay(struct dns_view m, const struct dns_layout *l, uint8_t *room);

/* True when a message, of which dns_parse set `end`, has at most one OPT record, owned by the root
 * (RFC 6891 sections 6.1.1 and 6.1.2). */
bool dns_opt_is_right(struct dns_view m, const struct dns_layout *l);

/* Makes a layout that of the message without its records. */
void dns_layout_cut(struct dns_layout *l);

/* Reads the first question of a message with at least a header and one question: sets name_len,
 * qtype, qclass and question_end. False: it is malformed. */
bool dns_parse_question(struct dns_view m, struct dns_layout *l) MUST_USE;

/* The number of labels of a name in wire form, without the root. */
uint32_t dns_labels(const uint8_t *name);

/* The bytes that the last n labels of a name take, with the root; 0: it has fewer labels. */
uint32_t dns_tail(const uint8_t *name, uint32_t n_labels);

/* --- names as keys ------------------------------------------------------------------ */

/* A name in wire form without compression, in lower case, with zeros up to the end of the last
 * word, so that it can be hashed and compared by words. */
struct dns_key {
	uint32_t len; /* bytes of the name */
	uint32_t word[(DNS_NAME_MAX + 3) / 4];
};
_Static_assert((DNS_NAME_MAX + 3) / 4 % 2 == 0, "words can be taken in pairs");

static inline uint32_t dns_key_words(uint32_t len)
{
	return (len + 3) / 4;
}

/* Sets the key of a name in wire form of len bytes. */
void dns_key_set(struct dns_key *key, const uint8_t *name, uint32_t len);

/* Copies a name of `len` bytes. Both places have room up to the end of its last word. */
static inline void dns_copy_name(uint8_t *to, const uint8_t *from, uint32_t len)
{
	uint32_t i = 0;
	for (; i + 4 < len; i += 8) {
		store32(to + i, load32(from + i));
		store32(to + i + 4, load32(from + i + 4));
	}
	if (i < len)
		store32(to + i, load32(from + i));
}

/* Four characters in lower case (RFC 4343 section 3: ASCII letters only). Length bytes of labels
 * are smaller than letters and stay as they are. */
static inline uint32_t dns_lower4(uint32_t w)
{
	uint32_t low = w & 0x7f7f7f7f;
	uint32_t above_z = low + 0x25252525; /* upper bit: > 'Z' */
	uint32_t from_a = low + 0x3f3f3f3f;  /* upper bit: >= 'A' */
	return w | ((from_a & ~above_z & ~w & 0x80808080) >> 2);
}

/* Writes a name in wire form as text: "www.example.", unprintable bytes as \DDD (RFC 1035 section
 * 5.1), cut where buf ends. Gives buf. */
char *dns_name_text(char *buf, size_t size, const uint8_t *name);

/* Writes a name of the configuration, "example.com" (RFC 1035 section 2.3.1, no escapes), in wire
 * form. Gives its length; 0: it is no name. */
uint32_t dns_name_of_text(uint8_t out[DNS_NAME_MAX], const char *text);

/* --- writing ------------------------------------------------------------------------- */

#define DNS_SEEN 48u /* names of the source that a pointer can replace */

/* A message that is written into the caller's memory, at most `limit` bytes. Each call that writes
 * does so completely or, if it gives false, not at all. */
struct dns_out {
	uint8_t *at;
	uint32_t len, limit;
	struct dns_view from; /* the message that records are copied from */
	uint32_t question;    /* the names in so many first bytes are the same in both messages */
	uint32_t same;        /* so many first bytes are the same, but for TTLs */
	uint32_t n_seen;
	struct {
		uint16_t from, to;
	} seen[DNS_SEEN];
};

/* Begins after the `len` bytes that are there already: header and question section. */
void dns_out_init(struct dns_out *o, uint8_t *at, uint32_t len, uint32_t limit);

/* Sets the message that dns_copy_… copies from. The names in its first `same` bytes are those of
 * the answer. */
void dns_out_from(struct dns_out *o, struct dns_view from, uint32_t same);

/* Notes that the name at `from` in the source stands at `to` in the answer. */
void dns_out_known(struct dns_out *o, uint32_t from, uint32_t to);

/* Copies a well-formed record with another TTL; pointers in it are adapted. */
bool dns_copy_rr(struct dns_out *o, const struct dns_rr *rr, uint32_t ttl) MUST_USE;

/* Writes a record with the owner at `owner` in the source, and these data. */
bool dns_copy_owner(struct dns_out *o, uint32_t owner, uint16_t type, uint16_t class, uint32_t ttl,
                    const void *data, uint32_t data_len) MUST_USE;

/* Writes a record whose owner stands at `owner` in the answer (DNS_HEADER: the queried name). */
bool dns_put_rr(struct dns_out *o, uint32_t owner, uint16_t type, uint16_t class, uint32_t ttl,
                const void *data, uint32_t data_len) MUST_USE;

/* Writes an OPT record (RFC 6891 section 6.1.2) without options into DNS_OPT_BYTES bytes; `ttl` is
 * its extended response code, version and flags. */
static inline void dns_write_opt(uint8_t *at, uint16_t size, uint32_t ttl)
{
	at[0] = 0;
	dns_put16(at + 1, DNS_TYPE_OPT);
	dns_put16(at + 3, size);
	dns_put32(at + 5, ttl);
	dns_put16(at + 9, 0);
}

/* Adds an OPT record to a message; `rcode` is the whole response code. */
bool dns_put_opt(struct dns_out *o, uint16_t size, uint16_t rcode, bool dnssec_ok) MUST_USE;

#endif
