/* See storage.h. A device goes through the steps below: it is asked for its units (slots of a card
 * reader; a stick has one), what it is, whether it is ready, how large and whether protected. Then
 * it is a block device. Of several units the first with a medium is used. Without a medium the
 * units are asked again every two seconds.
 *
 * Commands: SPC-4 and SBC-3. Each step is tried a bounded number of times. A device whose transport
 * breaks three times in a row is reset at its port; the core bounds how often. */
#include "drivers/usb/storage/storage.h"

#include "drivers/block/block.h"
#include "drivers/usb/storage/storage_bot.h"
#include "drivers/usb/storage/storage_sense.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

#define DATA_BYTES  256u
#define SHORT_MS    5000u  /* data and status of commands that say something */
#define LONG_MS     20000u /* of those that move sectors, start a motor or empty a cache */
#define PAUSE_US    (100 * 1000u)
#define EMPTY_US    (2000 * 1000u)      /* a drive without a medium is asked again */
#define READY_US    (5000 * 1000u)      /* a device becomes ready, */
#define LONG_US     (30 * 1000 * 1000u) /* and one that says that it is on its way */
#define GONE_US     (1000 * 1000u)      /* a device that was pulled is detached within this time */
#define TRIES       3u
#define LOG_MS      2000u /* between two lines about a medium */
#define LUNS        15u
#define WRITTEN_OFF "usb storage: %s: %s; it is not used"

enum { TEST_READY = 0x00, REQUEST_SENSE = 0x03, INQUIRY = 0x12, MODE_SENSE = 0x1a };
enum { START_STOP = 0x1b, READ_CAPACITY = 0x25, READ10 = 0x28, WRITE10 = 0x2a, SYNCHRONIZE = 0x35 };
enum { READ16 = 0x88, WRITE16 = 0x8a, SERVICE_IN = 0x9e, READ_CAPACITY16 = 0x10 };
enum { INQUIRY_BYTES = 36, MODE_BYTES = 192, ALL_PAGES = 0x3f };

enum step {
	S_UNITS,   /* GET_MAX_LUN */
	S_INQUIRY, /* what it is */
	S_READY,   /* TEST UNIT READY */
	S_START,   /* START UNIT */
	S_SIZE,    /* READ CAPACITY (10) */
	S_SIZE16,  /* READ CAPACITY (16) */
	S_PROTECT, /* MODE SENSE */
	S_IDLE,    /* a block device */
	S_REQUEST, /* of the block device */
	S_DEAD,    /* no command gets through; its port will be reset */
	S_OFF,     /* is not used */
};

struct storage {
	struct storage_bot bot;
	struct block_device block;
	struct usb_transfer control;
	uint8_t *data; /* DATA_BYTES of alloc() */
	bool used, expected;
	bool sensing;     /* REQUEST SENSE is under way */
	bool started;     /* START UNIT was sent */
	bool empty, told; /* a unit has no medium; the log says so */
	uint8_t step, lun, max_lun;
	uint32_t tries, broken;
	uint32_t vain;     /* it appeared so often since it could be read */
	uint64_t log_mark; /* of log_limited */
	uint64_t since_us; /* when the step was entered */
	uint64_t wait_us;  /* the step's command is sent then; 0: no */
	char name[32];
};

static struct storage *all;
static uint64_t now_us;

static void failed(struct storage *s, enum storage_cause cause);

/* --- ends ---------------------------------------------------------------------------------- */

/* It is known now whether there will be a block device. */
static void decided(struct storage *s)
{
	if (s->expected)
		block_expect(-1);
	s->expected = false;
}

static void finish(struct storage *s, enum block_result result)
{
	s->step = S_IDLE;
	block_done(&s->block, result);
}

static void give_up(struct storage *s, const char *why)
{
	log_line(WRITTEN_OFF, s->name, why);
	s->step = S_OFF;
	decided(s);
}

/* No command gets through any more. Mostly the device was just pulled: then detach follows. */
static void dead(struct storage *s)
{
	s->step = S_DEAD;
	s->wait_us = now_us + GONE_US;
}

/* It is dead and still plugged in. */
static void bury(struct storage *s)
{
	s->wait_us = 0;
	finish(s, BLOCK_FAILED);
	s->step = S_OFF;
	block_vanish(&s->block);
	decided(s);
	log_line("usb storage: %s: does not answer; its port is reset", s->name);
	usb_device_reset(s->bot.device);
}

/* --- commands ------------------------------------------------------------------------------ */

static void put64(uint8_t *at, uint64_t v)
{
	store32(at, swap32((uint32_t)(v >> 32)));
	store32(at + 4, swap32((uint32_t)v));
}

static uint64_t get64(const uint8_t *at)
{
	return (uint64_t)swap32(load32(at)) << 32 | swap32(load32(at + 4));
}

/* The command of a request; those with 16 bytes only beyond 2^32 sectors, since many sticks do not
 * know them. */
static void request_command(struct storage *s, struct storage_command *c)
{
	const struct block_request *r = s->block.request;
	bool writes = r->op == BLOCK_WRITE;
	c->cdb_len = 10;
	c->timeout_ms = LONG_MS;
	if (r->op == BLOCK_FLUSH) {
		c->cdb[0] = SYNCHRONIZE;
		return;
	}
	c->in = !writes;
	c->data = r->data;
	c->len = r->count * s->block.sector_bytes;
	if (r->sector + r->count <= UINT32_MAX) {
		c->cdb[0] = writes ? WRITE10 : READ10;
		store32(c->cdb + 2, swap32((uint32_t)r->sector));
		store16(c->cdb + 7, swap16((uint16_t)r->count));
	} else {
		c->cdb_len = 16;
		c->cdb[0] = writes ? WRITE16 : READ16;
		put64(c->cdb + 2, r->sector);
		store32(c->cdb + 10, swap32(r->count));
	}
}

static void ask(struct storage *s, struct storage_command *c, uint8_t operation, uint32_t len)
{
	c->cdb[0] = operation;
	c->in = true;
	c->len = len;
	c->data = s->data;
}

/* The command of the present step. */
static void step_command(struct storage *s, struct storage_command *c)
{
	switch ((enum step)s->step) {
	case S_INQUIRY:
		ask(s, c, INQUIRY, INQUIRY_BYTES);
		c->cdb[4] = INQUIRY_BYTES;
		break;
	case S_START:
		c->cdb[0] = START_STOP;
		c->cdb[4] = 1;
		c->timeout_ms = LONG_MS;
		break;
	case S_SIZE:
		ask(s, c, READ_CAPACITY, 8);
		c->cdb_len = 10;
		break;
	case S_SIZE16:
		ask(s, c, SERVICE_IN, 32);
		c->cdb[1] = READ_CAPACITY16;
		c->cdb[13] = 32;
		c->cdb_len = 16;
		break;
	case S_PROTECT:
		ask(s, c, MODE_SENSE, MODE_BYTES);
		c->cdb[2] = ALL_PAGES;
		c->cdb[4] = MODE_BYTES;
		break;
	case S_REQUEST:
		request_command(s, c);
		break;
	default:
		c->cdb[0] = TEST_READY;
	}
}

static void send(struct storage *s)
{
	struct storage_command c = {
	        .cdb_len = 6, .lun = s->lun, .timeout_ms = SHORT_MS, .lazy = s->told};
	s->wait_us = 0;
	if (s->sensing) {
		ask(s, &c, REQUEST_SENSE, STORAGE_SENSE_BYTES);
		c.cdb[4] = STORAGE_SENSE_BYTES;
	} else {
		step_command(s, &c);
	}
	memset(s->data, 0, DATA_BYTES);
	if (!storage_bot_start(&s->bot, &c))
		dead(s);
}

static void enter(struct storage *s, enum step step)
{
	s->step = (uint8_t)step;
	s->tries = 0;
	s->since_us = now_us;
	send(s);
}

/* Sends the step's command once more, now or after a pause. */
static void again(struct storage *s, uint64_t pause_us)
{
	if (pause_us)
		s->wait_us = now_us + pause_us;
	else
		send(s);
}

static void bot_done(struct storage_bot *b, enum storage_result result);

/* --- what it is ---------------------------------------------------------------------------- */

/* Goes on to the next unit, or waits for a medium when one had none, or gives up. */
static void next_unit(struct storage *s)
{
	s->started = false;
	if (s->lun < s->max_lun) {
		s->lun++;
		enter(s, S_INQUIRY);
	} else if (s->empty) {
		if (!s->told)
			log_line("usb storage: %s: no medium", s->name);
		s->told = true;
		s->empty = false;
		s->lun = 0;
		s->step = S_INQUIRY;
		s->tries = 0;
		s->since_us = now_us;
		again(s, EMPTY_US);
		decided(s);
	} else {
		give_up(s, "is no disk");
	}
}

/* Appends a name of INQUIRY, without its blanks at the end, and only what can be printed. */
static void add_name(struct storage *s, const uint8_t *from, uint32_t len)
{
	size_t n = strlen(s->name);
	while (len && (from[len - 1] == ' ' || from[len - 1] == 0))
		len--;
	if (n && len)
		s->name[n++] = ' ';
	for (uint32_t i = 0; i < len; i++)
		s->name[n++] = from[i] >= ' ' && from[i] <= '~' ? (char)from[i] : '?';
	s->name[n] = '\0';
}

static void inquired(struct storage *s)
{
	if (s->bot.moved < 5 || s->data[0] != 0) { /* connected; a disk */
		next_unit(s);
		return;
	}
	s->name[0] = '\0';
	add_name(s, s->data + 8, 8);
	add_name(s, s->data + 16, 16);
	if (!s->name[0])
		fmt(s->name, sizeof s->name, "stick");
	enter(s, S_READY);
}

static void sized(struct storage *s, uint64_t last, uint32_t bytes)
{
	if (bytes < 512 || bytes > BLOCK_BYTES || (bytes & (bytes - 1)) || last == UINT64_MAX) {
		give_up(s, "its sectors have another size than 512 to 4096 bytes");
		return;
	}
	s->block.sector_bytes = bytes;
	s->block.sectors = last + 1;
	enter(s, S_PROTECT);
}

static void start_request(struct block_device *d);

static void appear(struct storage *s, bool read_only)
{
	struct block_device *d = &s->block;
	if (s->vain++ == TRIES) {
		give_up(s, "says again and again that its medium was changed");
		return;
	}
	fmt(d->name, sizeof d->name, "%s", s->name);
	d->read_only = read_only;
	d->start = start_request;
	d->driver = s;
	s->step = S_IDLE;
	s->told = false;
	if (!block_appear(d)) {
		give_up(s, "there are too many block devices");
		return;
	}
	log_limited(&s->log_mark, LOG_MS, "usb storage: %s, %u MB%s", s->name,
	            (uint32_t)(d->sectors / ((1u << 20) / d->sector_bytes)),
	            read_only ? ", write-protected" : "");
	decided(s);
}

/* --- requests ------------------------------------------------------------------------------ */

static void start_request(struct block_device *d)
{
	enter(d->driver, S_REQUEST);
}

/* The medium is not the one any more that the block device was made of. */
static void medium_gone(struct storage *s)
{
	finish(s, BLOCK_GONE);
	block_vanish(&s->block);
	s->expected = true;
	block_expect(1);
	s->lun = 0;
	s->empty = false;
	enter(s, S_INQUIRY);
}

static void request_failed(struct storage *s, enum storage_cause cause)
{
	s->tries++;
	switch (cause) {
	case STORAGE_CHANGED:
	case STORAGE_EMPTY:
		medium_gone(s);
		return;
	case STORAGE_NOT_YET:
	case STORAGE_START:
		if (now_us - s->since_us < LONG_US) {
			again(s, PAUSE_US);
			return;
		}
		break;
	case STORAGE_PROTECTED:
		finish(s, BLOCK_PROTECTED);
		return;
	case STORAGE_USED_UP:
		finish(s, BLOCK_NO_ROOM);
		return;
	case STORAGE_UNKNOWN:
		/* Without the command there is no cache to empty. */
		finish(s, s->block.request->op == BLOCK_FLUSH ? BLOCK_OK : BLOCK_FAILED);
		return;
	default:
		if (s->tries < TRIES) {
			again(s, 0);
			return;
		}
	}
	finish(s, BLOCK_FAILED);
}

static void request_good(struct storage *s)
{
	const struct block_request *r = s->block.request;
	if (s->bot.moved != (r->op == BLOCK_FLUSH ? 0 : r->count * s->block.sector_bytes)) {
		request_failed(s, STORAGE_ERROR);
		return;
	}
	if (r->op == BLOCK_READ)
		s->vain = 0;
	finish(s, BLOCK_OK);
}

/* --- results ------------------------------------------------------------------------------- */

static void good(struct storage *s)
{
	const uint8_t *d = s->data;
	switch ((enum step)s->step) {
	case S_INQUIRY:
		inquired(s);
		break;
	case S_START:
		enter(s, S_READY);
		break;
	case S_SIZE:
		if (s->bot.moved < 8)
			failed(s, STORAGE_ERROR);
		else if (load32(d) == UINT32_MAX)
			enter(s, S_SIZE16);
		else
			sized(s, swap32(load32(d)), swap32(load32(d + 4)));
		break;
	case S_SIZE16:
		if (s->bot.moved < 12)
			failed(s, STORAGE_ERROR);
		else
			sized(s, get64(d), swap32(load32(d + 8)));
		break;
	case S_PROTECT:
		appear(s, s->bot.moved >= 3 && (d[2] & 0x80));
		break;
	case S_REQUEST:
		request_good(s);
		break;
	default:
		enter(s, S_SIZE);
	}
}

/* TEST UNIT READY failed. */
static void not_ready(struct storage *s, enum storage_cause cause)
{
	uint64_t waited = now_us - s->since_us;
	s->tries++;
	if (cause == STORAGE_EMPTY && s->tries >= TRIES) {
		/* Write-protected sticks may say so at first. */
		s->empty = true;
		next_unit(s);
	} else if (cause == STORAGE_START && !s->started) {
		s->started = true;
		enter(s, S_START);
	} else if (waited <
	           (cause == STORAGE_NOT_YET || cause == STORAGE_START ? LONG_US : READY_US)) {
		again(s, PAUSE_US);
	} else {
		give_up(s, "does not become ready");
	}
}

static void failed(struct storage *s, enum storage_cause cause)
{
	switch ((enum step)s->step) {
	case S_READY:
		not_ready(s, cause);
		break;
	case S_START:
		s->step = S_READY;
		again(s, PAUSE_US);
		break;
	case S_PROTECT:
		appear(s, false); /* it does not know the command: it is writable */
		break;
	case S_REQUEST:
		request_failed(s, cause);
		break;
	default:
		if (++s->tries < TRIES)
			again(s, PAUSE_US);
		else
			give_up(s, s->step == S_INQUIRY ? "does not say what it is"
			                                : "does not say how large it is");
	}
}

static void bot_done(struct storage_bot *b, enum storage_result result)
{
	struct storage *s = b->owner;
	bool sensing = s->sensing;
	s->sensing = false;
	if (result == STORAGE_DEAD || (result == STORAGE_BROKEN && ++s->broken == TRIES)) {
		dead(s);
	} else if (result == STORAGE_BROKEN) {
		send(s);
	} else if (result == STORAGE_CHECK && !sensing) {
		s->sensing = true;
		send(s);
	} else if (result == STORAGE_GOOD && !sensing) {
		s->broken = 0;
		good(s);
	} else if (result == STORAGE_GOOD) {
		failed(s, storage_sense_cause(storage_sense_read(s->data, b->moved)));
	} else {
		failed(s, STORAGE_ERROR);
	}
}

/* --- the class ----------------------------------------------------------------------------- */

static bool storage_init(void)
{
	all = alloc(STORAGE_DEVICES * sizeof *all, 64);
	for (uint32_t i = 0; all && i < STORAGE_DEVICES; i++) {
		all[i].data = alloc(DATA_BYTES, DATA_BYTES);
		all[i].bot.buf = alloc(STORAGE_BOT_BUF, STORAGE_BOT_BUF);
		if (!all[i].data || !all[i].bot.buf)
			return false;
	}
	return all != NULL;
}

static bool storage_wants(const struct usb_interface *i)
{
	return i->class_code == 8 && i->subclass == 6 && i->protocol == 0x50;
}

/* GET_MAX_LUN has ended; a device with one unit may refuse it (section 3.2). */
static void units_done(struct usb_transfer *t)
{
	struct storage *s = t->owner;
	if (t->status == USB_GONE) {
		dead(s);
		return;
	}
	if (t->status == USB_OK && t->actual == 1 && s->data[0] <= LUNS)
		s->max_lun = s->data[0];
	enter(s, S_INQUIRY);
}

static struct storage *unused(void)
{
	for (uint32_t i = 0; i < STORAGE_DEVICES; i++)
		if (!all[i].used)
			return &all[i];
	return NULL;
}

static void *storage_attach(struct usb_device *d, const struct usb_interface *i)
{
	struct storage *s = unused();
	struct usb_endpoint *in = NULL, *out = NULL;
	for (uint32_t k = 0; k < i->n_endpoints; k++) {
		struct usb_endpoint *e = i->endpoint[k];
		if (e->kind == USB_BULK && (e->address & 0x80) && !in)
			in = e;
		else if (e->kind == USB_BULK && !(e->address & 0x80) && !out)
			out = e;
	}
	if (!s || !in || !out) {
		log_line(s ? "usb storage: a device without a pair of bulk endpoints"
		           : "usb storage: there are too many devices");
		return NULL;
	}
	uint8_t *data = s->data, *buf = s->bot.buf;
	*s = (struct storage){.used = true, .data = data, .name = "stick"};
	s->bot = (struct storage_bot){.device = d,
	                              .in = in,
	                              .out = out,
	                              .interface = i->number,
	                              .buf = buf,
	                              .done = bot_done,
	                              .owner = s};
	usb_control(&s->control, d, 0xa1, 0xfe, 0, i->number, s->data, 1);
	s->control.done = units_done;
	s->control.owner = s;
	if (!usb_submit(&s->control)) {
		s->used = false;
		return NULL;
	}
	s->expected = true;
	block_expect(1);
	return s;
}

static void storage_detach(void *state)
{
	struct storage *s = state;
	block_vanish(&s->block);
	decided(s);
	s->used = false;
}

static void storage_tick(uint64_t now)
{
	now_us = now;
	for (uint32_t i = 0; i < STORAGE_DEVICES; i++) {
		struct storage *s = &all[i];
		if (!s->used || !s->wait_us || now < s->wait_us)
			continue;
		if (s->step == S_DEAD)
			bury(s);
		else
			send(s);
	}
}

const struct usb_class storage_class = {.name = "storage",
                                        .init = storage_init,
                                        .wants = storage_wants,
                                        .attach = storage_attach,
                                        .detach = storage_detach,
                                        .tick = storage_tick};
