/* See fmt.h. The code reads the format once and drops output that does not fit into the
 * buffer.
 *
 * Left out on purpose: floating point, precision for numbers, the flags '+', ' ' and '#',
 * positional arguments. A directive with any of these is printed as it stands, so that a
 * mistake is visible and harmless. */
#include "kernel/lib/fmt.h"

struct out {
	char *at;
	size_t len;
	size_t room; /* characters that still fit, without the NUL */
};

enum size { SIZE_INT, SIZE_CHAR, SIZE_SHORT, SIZE_LONG, SIZE_LLONG, SIZE_SIZE };

struct spec {
	bool left;
	bool zero;
	bool has_precision;
	size_t width;
	size_t precision;
	enum size size;
};

/* va_list may be an array type. As a parameter it would become a pointer and lose its type;
 * inside a struct it can be passed on. */
struct args {
	va_list list;
};

static void put(struct out *o, char c)
{
	if (o->room == 0)
		return;
	o->at[o->len++] = c;
	o->room--;
}

static void put_fill(struct out *o, char c, size_t n)
{
	for (n = n < o->room ? n : o->room; n > 0; n--)
		put(o, c);
}

static void put_text(struct out *o, const char *s, size_t n)
{
	n = n < o->room ? n : o->room;
	memcpy(o->at + o->len, s, n);
	o->len += n;
	o->room -= n;
}

/* Writes text into its field; `sign` comes before any zeros. */
static void put_field(struct out *o, const struct spec *spec, const char *sign, const char *s,
                      size_t n)
{
	size_t used = strlen(sign) + n;
	size_t fill = spec->width > used ? spec->width - used : 0;
	if (!spec->left && !spec->zero)
		put_fill(o, ' ', fill);
	put_text(o, sign, strlen(sign));
	if (!spec->left && spec->zero)
		put_fill(o, '0', fill);
	put_text(o, s, n);
	if (spec->left)
		put_fill(o, ' ', fill);
}

static void put_number(struct out *o, const struct spec *spec, const char *sign, uint64_t v,
                       uint32_t base, const char *digits)
{
	char text[20]; /* 2^64-1 has 20 digits */
	char *first = text + sizeof text;
	for (; v > UINT32_MAX; v /= base)
		*--first = digits[v % base];
	/* A value that fits in a word needs no 64-bit division. */
	uint32_t low = (uint32_t)v;
	do {
		*--first = digits[low % base];
		low /= base;
	} while (low > 0);
	put_field(o, spec, sign, first, (size_t)(text + sizeof text - first));
}

static uint64_t arg_signed(struct args *args, enum size size)
{
	int64_t v;
	switch (size) {
	case SIZE_LONG:
		v = va_arg(args->list, long);
		break;
	case SIZE_LLONG:
		v = va_arg(args->list, long long);
		break;
	case SIZE_SIZE:
		v = va_arg(args->list, ptrdiff_t);
		break;
	case SIZE_CHAR:
		v = (signed char)va_arg(args->list, int);
		break;
	case SIZE_SHORT:
		v = (short)va_arg(args->list, int);
		break;
	default:
		v = va_arg(args->list, int);
		break;
	}
	return (uint64_t)v;
}

static uint64_t arg_unsigned(struct args *args, enum size size)
{
	switch (size) {
	case SIZE_LONG:
		return va_arg(args->list, unsigned long);
	case SIZE_LLONG:
		return va_arg(args->list, unsigned long long);
	case SIZE_SIZE:
		return va_arg(args->list, size_t);
	case SIZE_CHAR:
		return (unsigned char)va_arg(args->list, unsigned);
	case SIZE_SHORT:
		return (unsigned short)va_arg(args->list, unsigned);
	default:
		return va_arg(args->list, unsigned);
	}
}

/* Reads a number in the format. A huge one stays huge and does not wrap. */
static const char *parse_number(const char *f, size_t *out)
{
	size_t n = 0;
	for (; *f >= '0' && *f <= '9'; f++)
		n = n > 100000 ? n : n * 10 + (size_t)(*f - '0');
	*out = n;
	return f;
}

static const char *parse_width(const char *f, struct spec *spec, struct args *args)
{
	for (; *f == '0' || *f == '-'; f++) {
		spec->zero |= *f == '0';
		spec->left |= *f == '-';
	}
	if (*f != '*')
		return parse_number(f, &spec->width);
	int width = va_arg(args->list, int);
	spec->left |= width < 0;
	spec->width = width < 0 ? -(size_t)width : (size_t)width;
	return f + 1;
}

static const char *parse_precision(const char *f, struct spec *spec, struct args *args)
{
	if (*f != '.')
		return f;
	f++;
	spec->has_precision = true;
	if (*f != '*')
		return parse_number(f, &spec->precision);
	int precision = va_arg(args->list, int);
	/* A negative precision counts as none. */
	spec->has_precision = precision >= 0;
	spec->precision = precision < 0 ? 0 : (size_t)precision;
	return f + 1;
}

static const char *parse_size(const char *f, struct spec *spec)
{
	switch (*f) {
	case 'h':
		spec->size = f[1] == 'h' ? SIZE_CHAR : SIZE_SHORT;
		return f[1] == 'h' ? f + 2 : f + 1;
	case 'l':
		spec->size = f[1] == 'l' ? SIZE_LLONG : SIZE_LONG;
		return f[1] == 'l' ? f + 2 : f + 1;
	case 'z':
		spec->size = SIZE_SIZE;
		return f + 1;
	default:
		return f;
	}
}

static bool convert_text(struct out *o, struct spec *spec, char what, struct args *args)
{
	spec->zero = false;
	if (spec->size != SIZE_INT)
		return false;
	if (what == 'c') {
		if (spec->has_precision)
			return false;
		char c = (char)va_arg(args->list, int);
		put_field(o, spec, "", &c, 1);
		return true;
	}
	const char *s = va_arg(args->list, const char *);
	if (!s)
		s = "(null)";
	put_field(o, spec, "", s, spec->has_precision ? strnlen(s, spec->precision) : strlen(s));
	return true;
}

static bool convert_number(struct out *o, const struct spec *spec, char what, struct args *args)
{
	static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
	if (spec->has_precision)
		return false;
	switch (what) {
	case 'd':
	case 'i': {
		uint64_t v = arg_signed(args, spec->size);
		bool minus = (int64_t)v < 0;
		put_number(o, spec, minus ? "-" : "", minus ? -v : v, 10, lower);
		return true;
	}
	case 'u':
		put_number(o, spec, "", arg_unsigned(args, spec->size), 10, lower);
		return true;
	case 'x':
	case 'X':
		put_number(o, spec, "", arg_unsigned(args, spec->size), 16,
		           what == 'x' ? lower : upper);
		return true;
	case 'p':
		if (spec->size != SIZE_INT)
			return false;
		put_number(o, spec, "0x", (uintptr_t)va_arg(args->list, void *), 16, lower);
		return true;
	default:
		return false;
	}
}

/* Converts one directive; `f` points behind its '%'. Gives what follows the directive, or
 * NULL when it is not supported (nothing was written). */
static const char *convert(struct out *o, const char *f, struct args *args)
{
	struct spec spec = {0};
	if (*f == '%') {
		put(o, '%');
		return f + 1;
	}
	f = parse_width(f, &spec, args);
	f = parse_precision(f, &spec, args);
	f = parse_size(f, &spec);
	bool ok = *f == 'c' || *f == 's' ? convert_text(o, &spec, *f, args)
	                                 : convert_number(o, &spec, *f, args);
	return ok ? f + 1 : NULL;
}

size_t fmt_v(char *buf, size_t size, const char *format, va_list list)
{
	struct out o = {.at = buf, .room = size - 1};
	struct args args;
	va_copy(args.list, list);
	for (const char *f = format; *f;) {
		const char *next = *f == '%' ? convert(&o, f + 1, &args) : NULL;
		if (!next) {
			put(&o, *f);
			next = f + 1;
		}
		f = next;
	}
	va_end(args.list);
	buf[o.len] = '\0';
	return o.len;
}

size_t fmt(char *buf, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	size_t n = fmt_v(buf, size, format, args);
	va_end(args);
	return n;
}

char *fmt_ip4(char buf[static FMT_IP4], ip4 a)
{
	fmt(buf, FMT_IP4, "%u.%u.%u.%u", a.b[0], a.b[1], a.b[2], a.b[3]);
	return buf;
}

/* Gives the first group of the longest run of two or more zero groups (RFC 5952 section
 * 4.2). *len is the run's length, 0 when there is none. */
static unsigned longest_zeros(const ip6 *a, unsigned groups, unsigned *len)
{
	unsigned best = 0;
	*len = 0;
	for (unsigned i = 0; i < groups; i++) {
		unsigned n = 0;
		while (i + n < groups && load16(a->b + 2 * (i + n)) == 0)
			n++;
		if (n >= 2 && n > *len) {
			best = i;
			*len = n;
		}
		i += n;
	}
	return best;
}

char *fmt_ip6(char buf[static FMT_IP6], const ip6 *a)
{
	/* IPv4-mapped addresses show the IPv4 address (RFC 5952 section 5). */
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	bool mixed = memcmp(a, mapped, sizeof mapped) == 0;
	unsigned groups = mixed ? 6 : 8, run;
	unsigned gap = longest_zeros(a, groups, &run);
	size_t n = 0;
	for (unsigned i = 0; i < groups;) {
		if (run && i == gap) {
			n += fmt(buf + n, FMT_IP6 - n, i == 0 ? "::" : ":");
			i += run;
			continue;
		}
		unsigned group = (unsigned)a->b[2 * i] << 8 | a->b[2 * i + 1];
		n += fmt(buf + n, FMT_IP6 - n, i == 7 ? "%x" : "%x:", group);
		i++;
	}
	if (mixed)
		fmt(buf + n, FMT_IP6 - n, "%u.%u.%u.%u", a->b[12], a->b[13], a->b[14], a->b[15]);
	return buf;
}

char *fmt_mac(char buf[static FMT_MAC], const mac *a)
{
	const uint8_t *b = a->b;
	fmt(buf, FMT_MAC, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
	return buf;
}
