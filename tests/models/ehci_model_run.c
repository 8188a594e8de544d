/* The schedules of the controller of ehci_model.h: what it reads, keeps and writes back (3, 4.4 to
 * 4.12). Numbers in brackets are sections of the EHCI specification. */
#include "tests/models/ehci_model.h"

#include "drivers/usb/usb.h"
#include "kernel/seam/io.h"

enum { LINK, ENDS, SPLITS, CURRENT, NEXT, ALT, TOKEN, PAGE0, HIGH0 = 12, WORDS = 17 };
enum { PING = 1, SPLIT_STATE = 2, MISSED = 4, XACT = 8, BABBLE = 0x10, HALT = 0x40, ACTIVE = 0x80 };
enum { OUT, IN, SETUP };
enum { PASS_MAX = 100, PACKETS = 8 };
enum { ASS = 0x8000, PSS = 0x4000 };

/* --- memory --------------------------------------------------------------------------------- */

static uint32_t *words(struct ehci_model *m, uint32_t at, uint32_t n, const char *what)
{
	uint32_t *p;
	if (at % 32 || (at & 4095) + n > 4096) {
		pci_model_fault("%s at 0x%x: not aligned, or crosses a page", what, at);
		return NULL;
	}
	p = pci_model_dma(&m->pci, at, n);
	return p;
}

static bool wide(const struct ehci_model *m)
{
	return m->more & 1;
}

static uint32_t qh_words(const struct ehci_model *m)
{
	return wide(m) ? WORDS : 12;
}

/* --- copies of queue heads -------------------------------------------------------------------- */

/* The link may change while a queue is linked; everything else only by the controller. */
static void compare(struct ehci_model *m, const struct ehci_model_seen *s, const char *when)
{
	const uint32_t *q = words(m, s->at, 4 * WORDS, "queue head");
	for (unsigned i = ENDS; q && i < qh_words(m); i++)
		if (q[i] != s->word[i]) {
			pci_model_fault("queue head 0x%x: word %u changed from 0x%x to 0x%x %s",
			                s->at, i, s->word[i], q[i], when);
			return;
		}
}

void ehci_model_drop(struct ehci_model *m, bool periodic, bool all)
{
	for (unsigned i = 0; i < EHCI_MODEL_SEEN; i++) {
		struct ehci_model_seen *s = &m->seen[i];
		if (!s->at || s->periodic != periodic || (s->reached && !all))
			continue;
		compare(m, s, "before it was free");
		if (m->late_write && !all && s->word[TOKEN] & ACTIVE && !s->late)
			s->late = true;
		else
			s->at = 0;
	}
}

static void check_ends(const struct ehci_model *m, const struct ehci_model_seen *s)
{
	uint32_t ends = s->word[ENDS], splits = s->word[SPLITS];
	unsigned speed = ends >> 12 & 3, size = ends >> 16 & 0x7ff;
	bool high = speed == 2, control = ends >> 14 & 1;
	const char *wrong = NULL;
	if (speed == 3)
		wrong = "speed 3";
	else if (ends & 0x80)
		wrong = "inactivate-on-next is set";
	else if (s->periodic != ((splits & 0xff) != 0))
		wrong = "S-mask";
	else if ((s->periodic && !high) != ((splits & 0xff00) != 0))
		wrong = "C-mask";
	else if (s->periodic && !high && ((splits & 0xff) != 1 || (splits >> 8 & 3)))
		wrong = "complete-splits too early";
	else if ((ends >> 28) && (s->periodic || !high))
		wrong = "RL";
	else if ((bool)(ends >> 27 & 1) != (control && !high))
		wrong = "the control endpoint flag";
	else if (!(splits >> 30))
		wrong = "Mult";
	else if (!high && (!(splits >> 16 & 127) || !(splits >> 23 & 127)))
		wrong = "no hub or no port";
	else if (s->periodic && control)
		wrong = "DTC";
	else if (size == 0 || size > (high ? 1024u : 64u) || (high && control && size != 64) ||
	         (speed == 1 && size > 8))
		wrong = "packet size";
	if (wrong)
		pci_model_fault("queue head 0x%x: %s (0x%x 0x%x)", s->at, wrong, ends, splits);
	(void)m;
}

/* Fetches a queue head. Gives the copy, or NULL. */
static struct ehci_model_seen *fetch(struct ehci_model *m, uint32_t at, bool periodic)
{
	struct ehci_model_seen *s = NULL, *unused = NULL;
	const uint32_t *q = words(m, at, 4 * WORDS, "queue head");
	if (!q)
		return NULL;
	for (unsigned i = 0; i < EHCI_MODEL_SEEN; i++)
		if (m->seen[i].at == at)
			s = &m->seen[i];
		else if (!m->seen[i].at)
			unused = &m->seen[i];
	if (!s) {
		if (!(s = unused)) {
			pci_model_fault("too many queue heads");
			return NULL;
		}
		*s = (struct ehci_model_seen){.at = at, .periodic = periodic};
		memcpy(s->word, q, sizeof s->word);
		if (!(s->word[ENDS] & 0x8000))
			check_ends(m, s);
	} else if (s->periodic != periodic) {
		pci_model_fault("queue head 0x%x is in both schedules", at);
	}
	compare(m, s, "while it was linked");
	memcpy(s->word, q, sizeof s->word);
	s->reached = true;
	s->frame = m->frindex >> 3;
	return s;
}

/* Writes the overlay back, and keeps what was written. */
static void store(struct ehci_model *m, struct ehci_model_seen *s)
{
	uint32_t *q = words(m, s->at, 4 * WORDS, "queue head");
	for (unsigned i = CURRENT; q && i < qh_words(m); i++)
		q[i] = s->word[i];
}

/* Writes the token of the descriptor back (4.10.4). */
static void retire(struct ehci_model *m, struct ehci_model_seen *s)
{
	uint32_t *d = words(m, s->qtd, wide(m) ? 52 : 32, "descriptor");
	if (!d)
		return;
	if (d[2] != s->qtd_token)
		pci_model_fault("descriptor 0x%x changed while it was active", s->qtd);
	d[2] = s->word[TOKEN];
	s->qtd = 0;
}

/* --- advancing a queue (4.10.2) -----------------------------------------------------------------
 */

static void check_qtd(const struct ehci_model *m, uint32_t at, const uint32_t *d)
{
	uint32_t n = d[2] >> 16 & 0x7fff;
	const char *wrong = NULL;
	if ((d[2] >> 8 & 3) == 3)
		wrong = "PID";
	else if (d[2] & 0x7e)
		wrong = "status";
	else if (!(d[2] >> 10 & 3))
		wrong = "no limit of errors";
	else if (d[2] & 0x8000)
		wrong = "an interrupt";
	else if ((d[3] & 4095) + n > 4096)
		wrong = "more pages than one, which the driver does not need";
	else if (wide(m) && (d[8] | d[9] | d[10] | d[11] | d[12]))
		wrong = "upper halves of addresses";
	if (wrong)
		pci_model_fault("descriptor 0x%x: %s (token 0x%x)", at, wrong, d[2]);
}

/* Loads the next descriptor. False when there is none that is active. */
static bool advance(struct ehci_model *m, struct ehci_model_seen *s)
{
	uint32_t at = s->word[NEXT], token = s->word[TOKEN];
	if (token >> 16 & 0x7fff && !(s->word[ALT] & 1))
		at = s->word[ALT];
	if (at & 1)
		return false;
	const uint32_t *d = words(m, at & ~31u, wide(m) ? 52 : 32, "descriptor");
	if (!d || !(d[2] & ACTIVE))
		return false;
	check_qtd(m, at, d);
	uint32_t keep = s->word[ENDS] & 0x4000 ? 0 : 0x80000000u;
	if ((s->word[ENDS] >> 12 & 3) == 2 && (d[2] >> 8 & 3) == OUT)
		keep |= PING;
	s->qtd = at;
	s->qtd_token = d[2];
	s->word[CURRENT] = at;
	for (unsigned i = 0; i < (wide(m) ? 13 : 8); i++)
		s->word[NEXT + i] = d[i];
	s->word[TOKEN] = (d[2] & ~keep) | (token & keep);
	store(m, s);
	return true;
}

/* --- transactions
 * --------------------------------------------------------------------------------- */

static void end_with(struct ehci_model *m, struct ehci_model_seen *s, uint32_t set)
{
	s->word[TOKEN] = (s->word[TOKEN] & ~(uint32_t)(ACTIVE | SPLIT_STATE)) | set;
	retire(m, s);
}

/* A transaction error: three of them halt the queue (4.10.3). */
static void error(struct ehci_model *m, struct ehci_model_seen *s)
{
	uint32_t left = s->word[TOKEN] >> 10 & 3;
	s->word[TOKEN] = (s->word[TOKEN] & ~(3u << 10)) | (left - 1) << 10 | XACT;
	if (left == 1)
		end_with(m, s, HALT);
}

/* n bytes have moved; the queue goes on or the descriptor is done. */
static void moved(struct ehci_model *m, struct ehci_model_seen *s, uint32_t n, uint32_t size)
{
	uint32_t token = s->word[TOKEN], left = (token >> 16 & 0x7fff) - n;
	bool is_in = (token >> 8 & 3) == IN;
	token = (token & ~(0x7fffu << 16)) | left << 16;
	token = (token ^ 0x80000000u) | 3u << 10;
	s->word[TOKEN] = token;
	s->word[PAGE0] += n;
	if (left == 0 || (is_in && n < size))
		end_with(m, s, 0);
}

static void answered(struct ehci_model *m, struct ehci_model_seen *s, enum ehci_says says,
                     const uint8_t *data, uint32_t n, bool toggle)
{
	uint32_t token = s->word[TOKEN], left = token >> 16 & 0x7fff;
	uint32_t size = s->word[ENDS] >> 16 & 0x7ff;
	bool is_in = (token >> 8 & 3) == IN;
	if (says == SAYS_NOTHING) {
		error(m, s);
	} else if (says == SAYS_STALL) {
		end_with(m, s, HALT);
	} else if (is_in && says == SAYS_DATA) {
		if (n > size || n > left) {
			end_with(m, s, HALT | BABBLE);
		} else if (toggle == (bool)(token >> 31)) {
			uint8_t *to = n ? pci_model_dma(&m->pci, s->word[PAGE0], n) : NULL;
			if (to)
				memcpy(to, data, n);
			moved(m, s, n, size);
		}
	} else if (!is_in && says == SAYS_ACK) {
		moved(m, s, min_u32(left, size), size);
	} else if ((token >> 8 & 3) == OUT && says == SAYS_NAK && (s->word[ENDS] >> 12 & 3) == 2) {
		s->word[TOKEN] |= PING;
	}
}

/* One transaction with a high-speed device. */
static enum ehci_says direct(struct ehci_model *m, struct ehci_model_seen *s)
{
	static uint8_t data[8192];
	uint32_t token = s->word[TOKEN], ends = s->word[ENDS], n = 0;
	unsigned pid = token >> 8 & 3, size = ends >> 16 & 0x7ff;
	bool toggle = token >> 31;
	struct ehci_model_device *d = ehci_model_find(m, ends & 127, USB_HIGH, 0, 0);
	if (pid != IN) {
		n = min_u32(token >> 16 & 0x7fff, size);
		const uint8_t *from = n ? pci_model_dma(&m->pci, s->word[PAGE0], n) : NULL;
		if (from)
			memcpy(data, from, n);
	}
	s->word[TOKEN] &= ~(uint32_t)PING;
	enum ehci_says says =
	        d ? ehci_model_token(m, d, pid, ends >> 8 & 15, data, &n, &toggle) : SAYS_NOTHING;
	answered(m, s, says, data, n, toggle);
	m->transactions++;
	return says;
}

/* Start-split: the transaction translator does the transaction and keeps the answer (4.12.1). */
static void split_start(struct ehci_model *m, struct ehci_model_seen *s, struct ehci_model_tt *tt)
{
	uint32_t token = s->word[TOKEN], ends = s->word[ENDS], splits = s->word[SPLITS];
	unsigned pid = token >> 8 & 3, size = ends >> 16 & 0x7ff, hub = splits >> 16 & 127;
	struct ehci_model_device *h = ehci_model_find(m, hub, USB_HIGH, 0, 0);
	if (!h || !h->n_ports || h->silent) {
		error(m, s);
		return;
	}
	uint8_t number = (uint8_t)((ends >> 8 & 15) | (pid == IN ? 0x80 : 0));
	if (tt->busy)
		return; /* NAK: the buffer is occupied */
	struct ehci_model_device *d = ehci_model_find(
	        m, ends & 127, (ends >> 12 & 3) == 1 ? USB_LOW : USB_FULL, hub, splits >> 23 & 127);
	tt->device = d;
	tt->number = number;
	tt->kind = s->periodic ? 3 : ends >> 27 & 1 ? 0 : 2;
	tt->len = 0;
	tt->toggle = token >> 31;
	if (pid != IN) {
		tt->len = min_u32(token >> 16 & 0x7fff, size);
		const uint8_t *from =
		        tt->len ? pci_model_dma(&m->pci, s->word[PAGE0], tt->len) : NULL;
		if (from)
			memcpy(tt->data, from, tt->len);
	}
	tt->says = d ? ehci_model_token(m, d, pid, number & 15, tt->data, &tt->len, &tt->toggle)
	             : SAYS_NOTHING;
	tt->late = d ? d->split_late : 0;
	tt->busy = true;
	s->word[TOKEN] |= SPLIT_STATE;
	m->transactions++;
}

/* Complete-split. `last`: of this frame. */
static void split_complete(struct ehci_model *m, struct ehci_model_seen *s,
                           struct ehci_model_tt *tt, bool last)
{
	if (tt->late && !s->periodic) {
		tt->late--; /* NYET */
		return;
	}
	if (tt->late && s->periodic) {
		tt->late--;
		if (!last)
			return;
		tt->says = SAYS_NOTHING;
	}
	s->word[TOKEN] &= ~(uint32_t)SPLIT_STATE;
	tt->busy = false;
	answered(m, s, tt->says, tt->data, tt->len, tt->toggle);
}

/* --- passes --------------------------------------------------------------------------------------
 */

/* The buffer of the translator for control and bulk that a queue head names. */
static struct ehci_model_tt *tt_of(struct ehci_model *m, const struct ehci_model_seen *s)
{
	struct ehci_model_device *hub =
	        ehci_model_find(m, s->word[SPLITS] >> 16 & 127, USB_HIGH, 0, 0);
	return &m->tt[hub && hub->multi_tt ? s->word[SPLITS] >> 23 & 7 : 0];
}

static void execute_async(struct ehci_model *m, struct ehci_model_seen *s)
{
	for (unsigned i = 0; i < PACKETS; i++) {
		if (s->word[TOKEN] & HALT || (!(s->word[TOKEN] & ACTIVE) && !advance(m, s)))
			return;
		if ((s->word[ENDS] >> 12 & 3) == 2) {
			enum ehci_says says = direct(m, s);
			store(m, s);
			if (says == SAYS_NAK || says == SAYS_NOTHING)
				return;
			continue;
		}
		struct ehci_model_tt *tt = tt_of(m, s);
		if (s->word[TOKEN] & SPLIT_STATE)
			split_complete(m, s, tt, false);
		else
			split_start(m, s, tt);
		store(m, s);
		return;
	}
}

static void execute_periodic(struct ehci_model *m, struct ehci_model_seen *s)
{
	uint32_t splits = s->word[SPLITS], now = 1u << (m->frindex & 7);
	bool complete = s->word[TOKEN] & SPLIT_STATE;
	if (s->word[TOKEN] & HALT || !((complete ? splits >> 8 : splits) & now))
		return;
	if (!(s->word[TOKEN] & ACTIVE) && !advance(m, s))
		return;
	if ((s->word[ENDS] >> 12 & 3) == 2) {
		(void)direct(m, s);
	} else if (!complete) {
		split_start(m, s, &s->tt);
	} else if (m->miss) { /* 4.12.2.4: lost data; no error is counted */
		m->miss--;
		s->tt.busy = false;
		end_with(m, s, HALT | MISSED);
	} else {
		split_complete(m, s, &s->tt, !(splits >> 8 & 0xff & ~(2 * now - 1)));
	}
	store(m, s);
}

static void reach_none(struct ehci_model *m, bool periodic)
{
	for (unsigned i = 0; i < EHCI_MODEL_SEEN; i++)
		if (m->seen[i].periodic == periodic)
			m->seen[i].reached = false;
}

static void pass_async(struct ehci_model *m)
{
	uint32_t at = m->async & ~31u;
	unsigned heads = 0;
	reach_none(m, false);
	for (unsigned i = 0; i < PASS_MAX; i++) {
		struct ehci_model_seen *s = fetch(m, at, false);
		if (!s)
			return;
		heads += s->word[ENDS] >> 15 & 1;
		if (!(s->word[ENDS] & 0x8000))
			execute_async(m, s);
		if ((s->word[LINK] & 7) != 2) {
			pci_model_fault("link 0x%x in the asynchronous schedule", s->word[LINK]);
			return;
		}
		at = s->word[LINK] & ~31u;
		if (at == (m->async & ~31u))
			break;
	}
	if (heads != 1)
		pci_model_fault("%u heads of the asynchronous schedule", heads);
}

static void pass_periodic(struct ehci_model *m)
{
	uint32_t *frame = pci_model_dma(&m->pci, m->periodic + (m->frindex >> 3 & 1023) * 4, 4);
	uint32_t at = frame ? *frame : 1;
	for (unsigned i = 0; !(at & 1); i++) {
		if (i == PASS_MAX || (at & 6) != 2) {
			pci_model_fault("link 0x%x in the periodic schedule", at);
			return;
		}
		struct ehci_model_seen *s = fetch(m, at & ~31u, true);
		if (!s)
			return;
		execute_periodic(m, s);
		at = s->word[LINK];
	}
}

/* Copies of the periodic schedule are kept until the frame after the last in which the queue was
 * reached. As queues are reached every eighth frame at least, those that are linked are kept for
 * comparison. */
static void forget_periodic(struct ehci_model *m)
{
	for (unsigned i = 0; i < EHCI_MODEL_SEEN; i++) {
		struct ehci_model_seen *s = &m->seen[i];
		if (!s->at || !s->periodic)
			continue;
		bool linked = false;
		for (unsigned f = 0; f < 8 && !linked; f++) {
			const uint32_t *p = pci_model_dma(&m->pci, m->periodic + f * 4, 4);
			uint32_t at = p ? *p : 1;
			for (unsigned k = 0; !(at & 1) && k < PASS_MAX && !linked; k++) {
				linked = (at & ~31u) == s->at;
				const uint32_t *q = words(m, at & ~31u, 48, "queue head");
				at = q ? *q : 1;
			}
		}
		if (linked) {
			s->frame = m->frindex >> 3;
		} else if ((m->frindex >> 3) - s->frame >= 2) {
			compare(m, s, "before it was free");
			s->at = 0;
		}
	}
}

void ehci_model_frame(struct ehci_model *m)
{
	if (m->sts & PSS) {
		if ((m->frindex & 7) == 0)
			forget_periodic(m);
		pass_periodic(m);
	}
	if (m->sts & ASS)
		pass_async(m);
	m->frindex = (m->frindex + 1) & 0x3fff;
}
