/* The lists of ohci_model.h. Section numbers: OHCI 1.0a. */
#include "tests/models/ohci_model.h"
#include "tests/models/ohci_model_regs.h"

enum {
	SKIP = 1 << 14,
	HALTED = 1,
	CARRY = 2,
	OWN = 2 << 24,
	ROUNDING = 1 << 18,
	CC_STALL = 4,
	CC_SILENT = 5,
	CC_OVERRUN = 8,
	CC_UNDERRUN = 9,
	PACKETS = 19, /* full ones fit in a frame */
};

static uint32_t *words(struct ohci_model *m, uint32_t at, uint32_t n)
{
	if (at & 15) {
		pci_model_fault("structure at 0x%x is not aligned", at);
		return NULL;
	}
	return pci_model_dma(&m->pci, at, 4 * n);
}

/* --- what the driver may change (4.2.2, 5.2.7) --------------------------------------------- */

/* Compares an endpoint descriptor with what the controller saw or wrote last. */
static void watch(struct ohci_model *m, uint32_t at, const uint32_t *ed)
{
	unsigned i = 0;
	while (i < m->n_eds && m->ed[i].at != at)
		i++;
	if (i == OHCI_MODEL_EDS)
		return;
	if (i == m->n_eds) {
		m->ed[m->n_eds++].at = at;
		m->ed[i].control = ed[0];
		m->ed[i].head = ed[2];
		m->ed[i].skipped = false;
	}
	bool halted = m->ed[i].head & HALTED;
	if ((ed[0] ^ m->ed[i].control) & ~(uint32_t)SKIP && !m->ed[i].skipped)
		pci_model_fault("the endpoint at 0x%x was changed without SKIP", at);
	if (ed[2] != m->ed[i].head && !m->ed[i].skipped && !halted)
		pci_model_fault("the head of the endpoint at 0x%x was changed without SKIP", at);
	for (unsigned k = 0; k < m->n_tds; k++)
		if (m->td[k].ed == at && m->ed[i].skipped)
			m->td[k--] = m->td[--m->n_tds]; /* given back by SKIP */
	/* In this frame the controller sees the bit from the beginning. */
	m->ed[i].skipped = ed[0] & SKIP;
	m->ed[i].control = ed[0];
	m->ed[i].head = ed[2];
}

static void watch_list(struct ohci_model *m, uint32_t at)
{
	for (unsigned n = 0; at; n++) {
		uint32_t *ed = words(m, at, 4);
		if (!ed)
			return;
		if (n > OHCI_MODEL_EDS) {
			pci_model_fault("a list loops");
			return;
		}
		watch(m, at, ed);
		at = ed[3];
	}
}

/* Notes a descriptor that the controller has, of the endpoint `ed` or retired (0): the driver may
 * not change it. */
static void keep(struct ohci_model *m, uint32_t ed, uint32_t at, const uint32_t *td)
{
	unsigned i = 0;
	while (i < m->n_tds && m->td[i].at != at)
		i++;
	if (i == ARRAY_SIZE(m->td))
		return;
	if (i == m->n_tds)
		m->td[m->n_tds++].at = at;
	m->td[i].ed = ed;
	memcpy(m->td[i].words, td, 16);
}

static void check_kept(struct ohci_model *m)
{
	for (unsigned i = 0; i < m->n_tds; i++) {
		const uint32_t *td = words(m, m->td[i].at, 4);
		if (td && memcmp(td, m->td[i].words, 16) != 0)
			pci_model_fault("the descriptor at 0x%x was changed", m->td[i].at);
	}
}

/* --- transactions (4.3.1) ------------------------------------------------------------------ */

static struct usb1_device *find_device(struct ohci_model *m, uint32_t ed0)
{
	struct usb1_device *found = NULL;
	for (unsigned i = 0; i < m->n_ports; i++) {
		struct usb1_device *d = m->port[i].device;
		if (!d || !(m->port[i].bits & PES) || d->address != (ed0 & 0x7f))
			continue;
		if (found)
			pci_model_fault("two devices answer to address %u", ed0 & 0x7f);
		found = d;
	}
	if (found && found->low != (ed0 >> 13 & 1)) {
		pci_model_fault("transaction at the wrong speed");
		return NULL;
	}
	return found;
}

/* Retires a descriptor with a condition code: it goes to the head of the done list. */
static void retire(struct ohci_model *m, uint32_t *ed, uint32_t *td, uint32_t at, uint32_t code)
{
	uint32_t next = td[2];
	if ((td[0] >> 21 & 7) != 0)
		pci_model_fault("delayed interrupt");
	td[0] = (td[0] & 0x0fffffff) | code << 28;
	td[2] = m->done;
	m->done = at;
	ed[2] = (next & ~15u) | (td[0] >> 24 & 1 ? CARRY : 0) | (code ? HALTED : 0);
	keep(m, 0, at, td);
}

/* Moves one packet of the descriptor at the head. True when another may follow at once. */
static bool packet(struct ohci_model *m, uint32_t *ed, uint32_t at)
{
	uint32_t *td = words(m, at, 4), buffer[16], n, room;
	if (!td)
		return false;
	uint32_t most = ed[0] >> 16 & 0x7ff, direction = ed[0] >> 11 & 3;
	uint32_t pid = direction == 1           ? USB1_OUT
	               : direction == 2         ? USB1_IN
	               : (td[0] >> 19 & 3) == 0 ? USB1_SETUP
	               : (td[0] >> 19 & 3) == 1 ? USB1_OUT
	                                        : USB1_IN;
	bool toggle = td[0] & OWN ? td[0] >> 24 & 1 : ed[2] & CARRY;
	uint32_t left = td[1] ? td[3] - td[1] + 1 : 0;
	if (td[1] && (td[3] < td[1] || left > 8192 || (td[3] >> 12) - (td[1] >> 12) > 1))
		pci_model_fault("a buffer from 0x%x to 0x%x", td[1], td[3]);
	if (most == 0 || most > 64)
		pci_model_fault("packets of %u bytes", most);
	room = n = min_u32(left, min_u32(most, 64));
	void *bytes = n ? pci_model_dma(&m->pci, td[1], n) : buffer;
	struct usb1_device *d = find_device(m, ed[0]);
	enum usb1_answer a = USB1_SILENCE;
	m->packets++;
	if (d && bytes)
		a = usb1_device_do(d, (enum usb1_pid)pid, ed[0] >> 7 & 15, toggle, bytes, &n, room);
	if (a == USB1_NAK)
		return false;
	if (a == USB1_SILENCE) {
		uint32_t errors = (td[0] >> 26 & 3) + 1;
		td[0] = (td[0] & ~(3u << 26)) | (errors & 3) << 26;
		if (errors == 3)
			retire(m, ed, td, at, CC_SILENT);
		return errors < 3;
	}
	if (a != USB1_ACK) {
		retire(m, ed, td, at, a == USB1_STALL ? CC_STALL : CC_OVERRUN);
		return false;
	}
	td[0] = (td[0] & ~(3u << 24 | 3u << 26)) | OWN | (toggle ? 0u : 1u << 24);
	if (n == left)
		td[1] = 0;
	else if (n)
		td[1] += n;
	if (td[1] && m->lie == OHCI_LIE_BUFFER)
		td[1] = 0x10;
	if (n == left)
		retire(m, ed, td, at, 0);
	else if (n < room || n < most)
		retire(m, ed, td, at, td[0] & ROUNDING ? 0 : CC_UNDERRUN);
	return true;
}

/* Serves an endpoint. True when it had a descriptor. */
static bool endpoint(struct ohci_model *m, uint32_t ed_at, uint32_t *ed, bool periodic)
{
	uint32_t at = 0;
	while (!(ed[0] & SKIP) && !(ed[2] & HALTED) && (ed[2] & ~15u) != (ed[1] & ~15u) &&
	       m->packets < PACKETS) {
		at = ed[2] & ~15u;
		if (!packet(m, ed, at) || periodic)
			break;
	}
	const uint32_t *td = at ? words(m, at, 4) : NULL;
	if (td && at == (ed[2] & ~15u)) /* not retired: it stays the controller's */
		keep(m, ed_at, at, td);
	return at;
}

/* Serves a list from `at`. True when an endpoint had a descriptor. */
static bool list(struct ohci_model *m, uint32_t at, bool periodic)
{
	bool had = false;
	for (unsigned n = 0; at && n <= OHCI_MODEL_EDS; n++) {
		uint32_t *ed = words(m, at, 4);
		if (!ed)
			break;
		had |= endpoint(m, at, ed, periodic);
		for (unsigned i = 0; i < m->n_eds; i++)
			if (m->ed[i].at == at)
				m->ed[i].head = ed[2];
		at = ed[3];
	}
	return had;
}

/* --- frames (4.4, 4.5) --------------------------------------------------------------------- */

static void lie(struct ohci_model *m, uint32_t *hcca)
{
	uint32_t *td = words(m, hcca[33] & ~15u, 4);
	if (m->lie == OHCI_LIE_LOOP && td)
		td[2] = hcca[33] & ~15u;
	else if (m->lie == OHCI_LIE_ELSEWHERE && td)
		td[2] = 0x12345670;
	else if (m->lie == OHCI_LIE_IDLE && td)
		td[2] = (hcca[33] & ~15u) + 32;
}

static void write_done(struct ohci_model *m, uint32_t *hcca)
{
	if (!m->done || m->status & WDH)
		return;
	check_kept(m);
	m->n_tds = 0;
	hcca[33] = m->done | 1; /* bit 0: another interrupt is pending */
	m->done = 0;
	m->status |= WDH;
	lie(m, hcca);
}

void ohci_model_frame(struct ohci_model *m)
{
	if (m->gone || (m->control & HCFS) != OPERATIONAL || m->control & IR)
		return;
	uint32_t *hcca = pci_model_dma(&m->pci, m->hcca, 256);
	if (!hcca)
		return;
	if (!m->frames_stuck)
		m->frame++;
	hcca[32] = m->frame; /* the pad is 0 */
	write_done(m, hcca);
	for (unsigned i = 0; i < 32; i++)
		watch_list(m, hcca[i]);
	watch_list(m, m->control_head);
	watch_list(m, m->bulk_head);
	m->packets = 0;
	if (m->periodic_start == 0 || (m->interval >> 16 & 0x7fff) == 0)
		return; /* no packet fits */
	if (m->control & PLE)
		(void)list(m, hcca[m->frame % 32], true);
	if (m->control & CLE && m->command & CLF) {
		m->control_scans++;
		m->command &= ~(uint32_t)CLF;
		if (list(m, m->control_head, false))
			m->command |= CLF;
	}
	if (m->control & BLE && m->command & BLF) {
		m->command &= ~(uint32_t)BLF;
		if (list(m, m->bulk_head, false))
			m->command |= BLF;
	}
}

void ohci_model_frame_end(struct ohci_model *m)
{
	if (!m->gone && (m->control & HCFS) == OPERATIONAL)
		check_kept(m);
}
