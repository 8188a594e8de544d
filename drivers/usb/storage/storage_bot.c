/* See storage_bot.h. */
#include "drivers/usb/storage/storage_bot.h"

#define COMMAND_MS 5000u

/* Command and status blocks: sections 5.1 and 5.2. */
enum { CBW_BYTES = 31, CBW_TAG = 4, CBW_LEN = 8, CBW_FLAGS = 12, CBW_LUN = 13, CBW_CDB_LEN = 14 };
enum { CBW_CDB = 15, CSW_BYTES = 13, CSW_TAG = 4, CSW_STATUS = 12 };
#define CBW_SIGNATURE 0x43425355u
#define CSW_SIGNATURE 0x53425355u

enum { CLEAR_FEATURE = 1, TO_ENDPOINT = 0x02, TO_INTERFACE = 0x21, BULK_RESET = 0xff };

/* What is under way. */
enum step { IDLE, COMMAND, DATA, CLEAR_DATA, STATUS, CLEAR_STATUS, RESET, RESET_IN, RESET_OUT };

static void transfer_done(struct usb_transfer *t);

static void ends(struct storage_bot *b, enum storage_result result)
{
	b->step = IDLE;
	b->done(b, result);
}

static bool submit(struct storage_bot *b, enum step step)
{
	b->step = (uint8_t)step;
	b->t.done = transfer_done;
	b->t.owner = b;
	b->t.lazy = b->command.lazy;
	return usb_submit(&b->t);
}

static bool bulk(struct storage_bot *b, enum step step, struct usb_endpoint *e, void *data,
                 uint32_t len, uint32_t timeout_ms)
{
	b->t.endpoint = e;
	b->t.data = data;
	b->t.len = len;
	b->t.timeout_ms = timeout_ms;
	return submit(b, step);
}

/* Ends the command when its next step could not be started. */
static void dead_unless(struct storage_bot *b, bool started)
{
	if (!started)
		ends(b, STORAGE_DEAD);
}

static bool clear_halt(struct storage_bot *b, enum step step, const struct usb_endpoint *e)
{
	usb_control(&b->t, b->device, TO_ENDPOINT, CLEAR_FEATURE, 0, e->address, NULL, 0);
	return submit(b, step);
}

/* Reset recovery, section 5.3.4. */
static void recover(struct storage_bot *b)
{
	usb_control(&b->t, b->device, TO_INTERFACE, BULK_RESET, 0, b->interface, NULL, 0);
	dead_unless(b, submit(b, RESET));
}

static void get_status(struct storage_bot *b)
{
	dead_unless(b, bulk(b, STATUS, b->in, b->buf + 32, CSW_BYTES, b->command.timeout_ms));
}

static struct usb_endpoint *data_pipe(const struct storage_bot *b)
{
	return b->command.in ? b->in : b->out;
}

bool storage_bot_start(struct storage_bot *b, const struct storage_command *command)
{
	uint8_t *cbw = b->buf;
	b->command = *command;
	b->moved = 0;
	b->again = false;
	b->tag++;
	memset(cbw, 0, CBW_BYTES);
	store32(cbw, CBW_SIGNATURE);
	store32(cbw + CBW_TAG, b->tag);
	store32(cbw + CBW_LEN, command->len);
	cbw[CBW_FLAGS] = command->in ? 0x80 : 0;
	cbw[CBW_LUN] = command->lun;
	cbw[CBW_CDB_LEN] = command->cdb_len;
	memcpy(cbw + CBW_CDB, command->cdb, command->cdb_len);
	if (bulk(b, COMMAND, b->out, cbw, CBW_BYTES, COMMAND_MS))
		return true;
	b->step = IDLE;
	return false;
}

static void command_done(struct storage_bot *b)
{
	const struct storage_command *c = &b->command;
	if (b->t.status != USB_OK || b->t.actual != CBW_BYTES)
		recover(b);
	else if (c->len)
		dead_unless(b, bulk(b, DATA, data_pipe(b), c->data, c->len, c->timeout_ms));
	else
		get_status(b);
}

static void data_done(struct storage_bot *b)
{
	b->moved = b->t.actual;
	if (b->t.status == USB_OK)
		get_status(b);
	else if (b->t.status == USB_STALLED)
		dead_unless(b, clear_halt(b, CLEAR_DATA, data_pipe(b)));
	else
		recover(b);
}

/* A halted pipe was cleared; then the status is read (again). */
static void cleared(struct storage_bot *b, struct usb_endpoint *e)
{
	if (b->t.status != USB_OK) {
		recover(b);
		return;
	}
	usb_endpoint_reset(e);
	get_status(b);
}

static void status_done(struct storage_bot *b)
{
	const uint8_t *csw = b->buf + 32;
	bool once_more = !b->again;
	if (b->t.status == USB_STALLED && once_more) {
		b->again = true;
		dead_unless(b, clear_halt(b, CLEAR_STATUS, b->in));
	} else if (b->t.status == USB_OK && b->t.actual == 0 && once_more) {
		b->again = true;
		get_status(b);
	} else if (b->t.status != USB_OK || b->t.actual != CSW_BYTES ||
	           load32(csw) != CSW_SIGNATURE || load32(csw + CSW_TAG) != b->tag ||
	           csw[CSW_STATUS] > 1) {
		recover(b);
	} else {
		ends(b, csw[CSW_STATUS] ? STORAGE_CHECK : STORAGE_GOOD);
	}
}

/* A step of the recovery has ended. A device that refuses the reset may still be cleared. */
static void reset_done(struct storage_bot *b)
{
	bool refused = b->step == RESET && b->t.status == USB_STALLED;
	if (b->t.status != USB_OK && !refused) {
		ends(b, STORAGE_DEAD);
	} else if (b->step == RESET) {
		dead_unless(b, clear_halt(b, RESET_IN, b->in));
	} else if (b->step == RESET_IN) {
		usb_endpoint_reset(b->in);
		dead_unless(b, clear_halt(b, RESET_OUT, b->out));
	} else {
		usb_endpoint_reset(b->out);
		ends(b, STORAGE_BROKEN);
	}
}

static void transfer_done(struct usb_transfer *t)
{
	struct storage_bot *b = t->owner;
	if (t->status == USB_GONE) {
		ends(b, STORAGE_DEAD);
		return;
	}
	switch ((enum step)b->step) {
	case COMMAND:
		command_done(b);
		break;
	case DATA:
		data_done(b);
		break;
	case CLEAR_DATA:
		cleared(b, data_pipe(b));
		break;
	case STATUS:
		status_done(b);
		break;
	case CLEAR_STATUS:
		cleared(b, b->in);
		break;
	default:
		reset_done(b);
	}
}
