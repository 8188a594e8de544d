/* See dns_message.h. */
#include "apps/dns64/message/dns_message.h"

#define POINTER   0xc0u
#define MAX_JUMPS 127u    /* the most labels that a name can have */
#define FAR       0x4000u /* offsets from here on are out of a pointer's reach */
#define NO_LABEL  0x80u   /* an error as the first byte of a label */

/* --- reading names ------------------------------------------------------------------ */

uint32_t dns_skip_name(struct dns_view m, uint32_t at)
{
	while (at < m.len) {
		uint32_t n = m.at[at];
		if (n == 0)
			return at + 1;
		if (n >= POINTER)
			return m.len - at >= 2 ? at + 2 : 0;
		if (n > DNS_LABEL_MAX)
			return 0; /* two obsolete kinds of label (RFC 6891 section 5) */
		at += n + 1;
	}
	return 0;
}

/* A walk over the labels of a name. A pointer leads to a name that stands whole before the labels
 * that the pointer ends (RFC 1035 section 4.1.4: "a prior occurrence"). */
struct walk {
	struct dns_view m;
	uint32_t at;    /* where the next label stands */
	uint32_t low;   /* where the bytes since the last jump begin */
	uint32_t end;   /* the labels end before this */
	uint32_t label; /* the label that next_label found */
	uint32_t jumps;
	bool bad; /* ended without a root */
};

/* Goes to the next label. False: it is the root, or (`bad` is set) there is no label. */
static bool next_label(struct walk *w)
{
	while (w->at < w->end && w->m.at[w->at] >= POINTER) {
		if (w->end - w->at < 2)
			break;
		uint32_t to = dns_get16(w->m.at + w->at) & ~(POINTER << 8);
		if (to < DNS_HEADER || ++w->jumps > MAX_JUMPS)
			break;
		w->end = w->low; /* it leads to what stands in front, and no further */
		w->at = w->low = to;
	}
	if (w->at >= w->end || w->m.at[w->at] > DNS_LABEL_MAX || w->m.at[w->at] >= w->end - w->at) {
		w->bad = true;
		return false;
	}
	w->label = w->at;
	w->at += w->m.at[w->label] + 1u;
	return w->m.at[w->label] != 0;
}

static struct walk walk(struct dns_view m, uint32_t at)
{
	return (struct walk){.m = m, .at = at, .low = at, .end = m.len};
}

/* dns_check_name by the same rules as next_label, but faster, since every name of every message is
 * checked here. *far is raised to the highest offset that a pointer leads to. */
static inline uint32_t check_name(const uint8_t *m, uint32_t end, uint32_t at, uint32_t *far)
{
	uint32_t after = 0, low = at, len = 0, jumps = 0;
	while (at < end) {
		uint32_t n = m[at];
		if (n == 0)
			return after ? after : at + 1;
		if (n <= DNS_LABEL_MAX) {
			at += n + 1;
			len += n + 1;
			if (len > DNS_NAME_MAX - 1)
				return 0;
			continue;
		}
		if (n < POINTER || end - at < 2)
			return 0;
		if (!after)
			after = at + 2;
		at = dns_get16(m + at) & ~(POINTER << 8);
		if (at < DNS_HEADER || ++jumps > MAX_JUMPS)
			return 0;
		end = low; /* as above */
		low = at;
		*far = max_u32(*far, at);
	}
	return 0;
}

uint32_t dns_check_name(struct dns_view m, uint32_t at)
{
	uint32_t far = 0;
	return check_name(m.at, m.len, at, &far);
}

uint32_t dns_read_name(struct dns_view m, uint32_t at, uint8_t out[DNS_NAME_MAX], uint32_t *out_len)
{
	struct walk w = walk(m, at);
	uint32_t len = 0;
	while (next_label(&w)) {
		uint32_t n = m.at[w.label] + 1u;
		if (n > DNS_NAME_MAX - 1 - len)
			return 0;
		memcpy(out + len, m.at + w.label, n);
		len += n;
	}
	if (w.bad)
		return 0;
	out[len] = 0;
	*out_len = len + 1;
	return dns_skip_name(m, at);
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

bool dns_same_name(struct dns_view a, uint32_t at_a, struct dns_view b, uint32_t at_b)
{
	struct walk wa = walk(a, at_a), wb = walk(b, at_b);
	for (;;) {
		bool more = next_label(&wa);
		if (more != next_label(&wb) || wa.bad || wb.bad)
			return false;
		if (!more || (a.at == b.at && wa.label == wb.label))
			return true; /* both end, or the rest is the same bytes */
		const uint8_t *la = a.at + wa.label, *lb = b.at + wb.label;
		if (*la != *lb)
			return false;
		for (uint32_t i = 1; i <= *la; i++)
			if (lower(la[i]) != lower(lb[i]))
				return false;
	}
}

/* --- reading records ------------------------------------------------------------------ */

/* Reads the record at `at` whose fixed part is at `fixed`; 0: its owner is no name. */
ALWAYS_INLINE bool read_fixed(struct dns_view m, uint32_t at, uint32_t fixed, struct dns_rr *rr)
{
	if (fixed == 0 || m.len - fixed < DNS_RR_FIXED)
		return false;
	const uint8_t *f = m.at + fixed;
	rr->owner = at;
	rr->type = dns_get16(f);
	rr->class = dns_get16(f + 2);
	rr->ttl = dns_get32(f + 4);
	rr->data_len = dns_get16(f + 8);
	rr->data = fixed + DNS_RR_FIXED;
	rr->end = rr->data + rr->data_len;
	return rr->data_len <= m.len - rr->data;
}

bool dns_read_rr(struct dns_view m, uint32_t at, struct dns_rr *rr)
{
	return read_fixed(m, at, dns_skip_name(m, at), rr);
}

/* What the data of a type consist of: fixed bytes, names, and a rest. The table has the types of
 * RFC 1035, and the types whose names some software compressed before RFC 3597 section 4 forbade
 * it. Data of all other types are bytes. */
struct form {
	bool known;     /* what follows is set */
	uint8_t before; /* bytes before the names */
	uint8_t names;
	uint8_t rest;    /* bytes after the names; ANY_REST: any number */
	bool compressed; /* we may compress the names when we write */
};
#define ANY_REST 0xff

/* clang-format off */
static const struct form forms[] = { /* by type */
	[DNS_TYPE_A] = {true, 4, 0, 0, false},
	[DNS_TYPE_AAAA] = {true, 16, 0, 0, false},
	[DNS_TYPE_CNAME] = {true, 0, 1, 0, true},
	[DNS_TYPE_SOA] = {true, 0, 2, 20, true},
	[DNS_TYPE_NS] = {true, 0, 1, 0, true},
	[DNS_TYPE_PTR] = {true, 0, 1, 0, true},
	[DNS_TYPE_DNAME] = {true, 0, 1, 0, false},
	[DNS_TYPE_RRSIG] = {true, 18, 1, ANY_REST, false},
	[3 /* MD */] = {true, 0, 1, 0, true},
	[4 /* MF */] = {true, 0, 1, 0, true},
	[7 /* MB */] = {true, 0, 1, 0, true},
	[8 /* MG */] = {true, 0, 1, 0, true},
	[9 /* MR */] = {true, 0, 1, 0, true},
	[14 /* MINFO */] = {true, 0, 2, 0, true},
	[15 /* MX */] = {true, 2, 1, 0, true},
	[17 /* RP */] = {true, 0, 2, 0, false},
	[18 /* AFSDB */] = {true, 2, 1, 0, false},
	[21 /* RT */] = {true, 2, 1, 0, false},
	[24 /* SIG */] = {true, 18, 1, ANY_REST, false},
	[26 /* PX */] = {true, 2, 2, 0, false},
	[30 /* NXT */] = {true, 0, 1, ANY_REST, false},
	[33 /* SRV */] = {true, 6, 1, 0, false},
	[36 /* KX */] = {true, 2, 1, 0, false},
	[47 /* NSEC */] = {true, 0, 1, ANY_REST, false},
};
/* clang-format on */
static const struct form opaque = {true, 0, 0, ANY_REST, false};

/* Types have the same form in all classes, but for the addresses (RFC 3597 section 5). */
static const struct form *form_of(const struct dns_rr *rr)
{
	const struct form *f = rr->type < ARRAY_SIZE(forms) ? &forms[rr->type] : &opaque;
	return f->known && (rr->class == DNS_CLASS_IN || f->names) ? f : &opaque;
}

/* Checks the names in the data of a record, and the length of what follows them. */
static bool check_names(const uint8_t *m, const struct form *f, const struct dns_rr *rr,
                        uint32_t *far)
{
	uint32_t at = rr->data;
	if (rr->data_len < f->before)
		return false;
	at += f->before;
	for (uint32_t i = 0; i < f->names; i++) {
		/* A name may point to any place before it, but ends within the data. */
		at = check_name(m, rr->end, at, far);
		if (at == 0)
			return false;
	}
	return f->rest == ANY_REST || rr->end - at == f->rest;
}

/* Checks that the data of a record have the form of its type. */
static inline bool check_data(const uint8_t *m, const struct dns_rr *rr, uint32_t *far)
{
	if (rr->type == DNS_TYPE_OPT)
		return true;
	if (LIKELY(rr->type == DNS_TYPE_A && rr->class == DNS_CLASS_IN))
		return rr->data_len == sizeof(ip4);
	const struct form *f = form_of(rr);
	return f == &opaque || check_names(m, f, rr, far);
}

bool dns_parse_question(struct dns_view m, struct dns_layout *l)
{
	uint32_t at = DNS_HEADER;
	while (at < m.len && m.at[at] != 0) {
		if (m.at[at] > DNS_LABEL_MAX)
			return false;
		at += m.at[at] + 1u;
	}
	uint32_t end = at + 1;
	if (at >= m.len || end - DNS_HEADER > DNS_NAME_MAX || m.len - end < DNS_QUESTION_FIXED)
		return false;
	l->name_len = end - DNS_HEADER;
	l->qtype = dns_get16(m.at + end);
	l->qclass = dns_get16(m.at + end + 2);
	l->question_end = end + DNS_QUESTION_FIXED;
	return true;
}

/* Checks the owner of a record; gives the offset after it, 0: it is no name. Mostly it is the
 * queried name, or the root. */
ALWAYS_INLINE uint32_t check_owner(struct dns_view m, struct dns_layout *l, uint32_t at)
{
	if (m.len - at >= 2 && load16(m.at + at) == swap16(POINTER << 8 | DNS_HEADER) &&
	    l->name_len)
		return at + 2;
	if (at < m.len && m.at[at] == 0)
		return at + 1;
	return check_name(m.at, m.len, at, &l->far);
}

/* Notes what the layout says about all records, and about OPT and SOA. False: OPT is in a wrong
 * section. */
ALWAYS_INLINE bool note_rr(struct dns_layout *l, enum dns_section s, uint32_t i,
                           const struct dns_rr *rr)
{
	if (rr->type == DNS_TYPE_OPT) {
		if (l->n_opt++ == 0) {
			l->opt = *rr;
			l->before_opt = (uint16_t)i;
		}
		return s == DNS_AR; /* RFC 6891 section 6.1.1 */
	}
	l->ttl_least = min_u32(l->ttl_least, rr->ttl);
	l->ttl_most = max_u32(l->ttl_most, rr->ttl);
	if (s == DNS_NS && rr->type == DNS_TYPE_SOA && l->soa.end == 0)
		l->soa = *rr;
	return true;
}

/* Sets a layout from the header. */
static inline void begin(struct dns_view m, struct dns_layout *l)
{
	for (unsigned s = 0; s < DNS_SECTIONS; s++)
		l->count[s] = be16_get(dns_header_of(m)->count[s]);
	l->section[DNS_QD] = l->question_end = DNS_HEADER;
	l->end = l->name_len = l->far = 0;
	l->n_opt = 0;
	l->soa.end = 0;
	l->ttl_least = UINT32_MAX;
	l->ttl_most = 0;
}

/* Parses all that follows the questions. */
static bool parse_records(struct dns_view m, struct dns_layout *l, uint32_t at)
{
	for (unsigned s = DNS_AN; s < DNS_SECTIONS; s++) {
		l->section[s] = at;
		for (uint32_t i = 0; i < l->count[s]; i++) {
			struct dns_rr rr;
			if (!read_fixed(m, at, check_owner(m, l, at), &rr) ||
			    !check_data(m.at, &rr, &l->far) ||
			    !note_rr(l, (enum dns_section)s, i, &rr))
				return false;
			at = rr.end;
		}
	}
	l->end = at;
	return at == m.len;
}

bool dns_parse(struct dns_view m, struct dns_layout *l)
{
	if (m.len < DNS_HEADER) {
		memset(l, 0, sizeof *l);
		return false;
	}
	begin(m, l);
	if (l->count[DNS_QD] > 0 && !dns_parse_question(m, l))
		return false;
	uint32_t at = l->question_end;
	for (uint32_t i = 1; i < l->count[DNS_QD]; i++) {
		at = check_name(m.at, m.len, at, &l->far);
		if (at == 0 || m.len - at < DNS_QUESTION_FIXED)
			return false;
		at += DNS_QUESTION_FIXED;
	}
	return parse_records(m, l, at);
}

bool dns_parse_rest(struct dns_view m, uint32_t name_len, struct dns_layout *l)
{
	const uint8_t *after = m.at + DNS_HEADER + name_len;
	begin(m, l);
	l->name_len = name_len;
	l->qtype = dns_get16(after);
	l->qclass = dns_get16(after + 2);
	l->question_end = DNS_HEADER + name_len + DNS_QUESTION_FIXED;
	return parse_records(m, l, l->question_end);
}

bool dns_names_stay(struct dns_view m, const struct dns_layout *l, uint8_t *room)
{
	struct dns_view v = {room, l->end};
	struct dns_layout other;
	struct dns_rr rr;
	if (LIKELY(l->far < l->question_end))
		return true; /* pointers lead into the question only */
	memcpy(room, m.at, v.len);
	for (uint32_t at = l->section[DNS_AN]; at < v.len && dns_read_rr(m, at, &rr); at = rr.end)
		memset(room + rr.data - 6, NO_LABEL, 4);
	return dns_parse(v, &other);
}

bool dns_opt_is_right(struct dns_view m, const struct dns_layout *l)
{
	return l->n_opt == 0 || (l->n_opt == 1 && m.at[l->opt.owner] == 0);
}

void dns_layout_cut(struct dns_layout *l)
{
	memset(l->count + DNS_AN, 0, 3 * sizeof l->count[0]);
	l->end = l->section[DNS_AN] = l->section[DNS_NS] = l->section[DNS_AR] = l->question_end;
	l->n_opt = 0;
	l->soa.end = 0;
	l->ttl_least = UINT32_MAX;
	l->ttl_most = 0;
}

/* --- writing ------------------------------------------------------------------------------ */

void dns_out_init(struct dns_out *o, uint8_t *at, uint32_t len, uint32_t limit)
{
	o->at = at;
	o->len = len;
	o->limit = limit;
	dns_out_from(o, (struct dns_view){at, len}, len);
}

void dns_out_from(struct dns_out *o, struct dns_view from, uint32_t same)
{
	o->from = from;
	o->question = o->same = same;
	o->n_seen = 0;
}

void dns_out_known(struct dns_out *o, uint32_t from, uint32_t to)
{
	if (o->n_seen == DNS_SEEN || from >= FAR || to >= FAR)
		return;
	o->seen[o->n_seen].from = (uint16_t)from;
	o->seen[o->n_seen++].to = (uint16_t)to;
}

/* True when the name at `from` ends within the question, and so is the same in both messages. */
static bool in_question(const struct dns_out *o, uint32_t from)
{
	const uint8_t *at = o->from.at;
	while (from < o->question && at[from] && at[from] <= DNS_LABEL_MAX)
		from += at[from] + 1u;
	return from < o->question && at[from] == 0;
}

/* The offset in the answer of the label at `from` in the source; 0: it is not there. */
static uint32_t known(const struct dns_out *o, uint32_t from)
{
	if (from < o->question)
		return in_question(o, from) ? from : 0;
	for (uint32_t i = 0; i < o->n_seen; i++)
		if (o->seen[i].from == from)
			return o->seen[i].to;
	return 0;
}

static bool put(struct dns_out *o, const void *data, uint32_t n)
{
	if (n > o->limit - o->len)
		return false;
	memcpy(o->at + o->len, data, n);
	o->len += n;
	return true;
}

static bool put_pointer(struct dns_out *o, uint32_t to)
{
	if (o->limit - o->len < 2)
		return false;
	dns_put16(o->at + o->len, POINTER << 8 | to);
	o->len += 2;
	return true;
}

/* Copies a name of the source: its labels up to one that is known, then a pointer to it. */
static bool copy_name(struct dns_out *o, uint32_t at, bool compress)
{
	struct walk w = walk(o->from, at);
	while (next_label(&w)) {
		uint32_t to = known(o, w.label), here = o->len;
		if (to && compress)
			return put_pointer(o, to);
		if (!put(o, o->from.at + w.label, o->from.at[w.label] + 1u))
			return false;
		if (!to)
			dns_out_known(o, w.label, here);
	}
	return !w.bad && put(o, "", 1);
}

/* Writes type, class, TTL and length of the data. */
static bool put_fixed(struct dns_out *o, uint32_t type, uint32_t class, uint32_t ttl, uint32_t len)
{
	if (o->limit - o->len < DNS_RR_FIXED)
		return false;
	uint8_t *f = o->at + o->len;
	dns_put16(f, type);
	dns_put16(f + 2, class);
	dns_put32(f + 4, ttl);
	dns_put16(f + 8, len);
	o->len += DNS_RR_FIXED;
	return true;
}

/* Takes back what was written and noted since; gives false. */
static bool undo(struct dns_out *o, uint32_t len, uint32_t n_seen)
{
	o->len = len;
	o->n_seen = n_seen;
	return false;
}

static bool copy_data(struct dns_out *o, const struct dns_rr *rr)
{
	const struct form *f = form_of(rr);
	uint32_t at = rr->data, begin = o->len;
	if (!put(o, o->from.at + at, f->before))
		return false;
	at += f->before;
	for (uint32_t i = 0; i < f->names; i++) {
		if (!copy_name(o, at, f->compressed))
			return false;
		at = dns_skip_name(o->from, at);
	}
	if (!put(o, o->from.at + at, rr->end - at))
		return false;
	dns_put16(o->at + begin - 2, o->len - begin);
	return true;
}

/* True when a name may be copied as it stands: it leads to the same place in both messages, and no
 * byte of it is in a TTL, which changes. Its labels in this record are noted. */
static bool stays(struct dns_out *o, const struct dns_rr *rr, uint32_t at)
{
	const uint8_t *b = o->from.at + at;
	if (b[0] == POINTER && b[1] == DNS_HEADER && o->question > DNS_HEADER)
		return true;
	struct walk w = walk(o->from, at);
	for (bool more = true; more;) {
		more = next_label(&w);
		if (w.bad)
			return false;
		uint32_t to = known(o, w.label);
		if (to == w.label)
			continue;
		uint32_t end = w.label + o->from.at[w.label] + 1;
		if (to || w.label < rr->owner || end > rr->end ||
		    (end > rr->data - DNS_RR_FIXED && w.label < rr->data))
			return false;
		dns_out_known(o, w.label, w.label);
	}
	return true;
}

/* True when a record may be copied as it stands. */
static bool stands(struct dns_out *o, const struct dns_rr *rr)
{
	const struct form *f = form_of(rr);
	uint32_t at = rr->data + f->before;
	bool good = rr->owner == o->len && o->same == o->len && stays(o, rr, rr->owner);
	for (uint32_t i = 0; i < f->names && good; i++) {
		good = stays(o, rr, at);
		at = dns_skip_name(o->from, at);
	}
	return good;
}

bool dns_copy_rr(struct dns_out *o, const struct dns_rr *rr, uint32_t ttl)
{
	uint32_t len = o->len, n_seen = o->n_seen;
	/* While all bytes before it are the same, a record is copied as it stands. */
	if (stands(o, rr)) {
		if (!put(o, o->from.at + len, rr->end - len))
			return undo(o, len, n_seen);
		dns_put32(o->at + rr->data - 6, ttl);
		o->same = o->len;
		return true;
	}
	o->n_seen = n_seen;
	if (!copy_name(o, rr->owner, true) || !put_fixed(o, rr->type, rr->class, ttl, 0) ||
	    !copy_data(o, rr))
		return undo(o, len, n_seen);
	return true;
}

bool dns_copy_owner(struct dns_out *o, uint32_t owner, uint16_t type, uint16_t class, uint32_t ttl,
                    const void *data, uint32_t data_len)
{
	uint32_t len = o->len, n_seen = o->n_seen;
	if (!copy_name(o, owner, true) || !put_fixed(o, type, class, ttl, data_len) ||
	    !put(o, data, data_len))
		return undo(o, len, n_seen);
	return true;
}

bool dns_put_rr(struct dns_out *o, uint32_t owner, uint16_t type, uint16_t class, uint32_t ttl,
                const void *data, uint32_t data_len)
{
	uint32_t len = o->len;
	if (!put_pointer(o, owner) || !put_fixed(o, type, class, ttl, data_len) ||
	    !put(o, data, data_len))
		return undo(o, len, o->n_seen);
	return true;
}

bool dns_put_opt(struct dns_out *o, uint16_t size, uint16_t rcode, bool dnssec_ok)
{
	uint32_t ttl = (uint32_t)(rcode >> 4) << 24 | (dnssec_ok ? DNS_OPT_DO : 0u);
	if (o->limit - o->len < DNS_OPT_BYTES)
		return false;
	dns_write_opt(o->at + o->len, size, ttl);
	o->len += DNS_OPT_BYTES;
	return true;
}
