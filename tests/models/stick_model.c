/* See stick_model.h. */
#include "tests/models/stick_model.h"

enum { COMMAND, DATA_IN, DATA_OUT, STATUS, LOST };

static uint32_t big32(const uint8_t *at)
{
	return swap32(load32(at));
}

static void put32(uint8_t *at, uint32_t v)
{
	store32(at, swap32(v));
}

static const uint8_t *cdb(const struct stick_model *s)
{
	return s->cbw + 15;
}

static void fails(struct stick_model *s, struct stick_sense sense)
{
	s->failed = true;
	s->sense = sense;
	s->reply_len = 0;
}

static uint32_t expected(const struct stick_model *s)
{
	return load32(s->cbw + 8);
}

/* The place of a read or write, and its bytes; false: not on the medium. */
static bool place(const struct stick_model *s, uint64_t *sector, uint32_t *n)
{
	const uint8_t *c = cdb(s);
	bool wide = c[0] >= 0x80;
	*sector = wide ? (uint64_t)big32(c + 2) << 32 | big32(c + 6) : big32(c + 2);
	*n = wide ? big32(c + 10) : (uint32_t)c[7] << 8 | c[8];
	return *sector < s->sectors && *n <= s->sectors - *sector;
}

static uint8_t *at(struct stick_model *s, uint64_t sector)
{
	return s->bytes + sector % s->mapped * s->sector_bytes;
}

static void inquiry(struct stick_model *s)
{
	uint8_t *r = s->reply;
	memset(r, 0, 36);
	r[0] = s->type[s->cbw[13] & 15];
	r[1] = 0x80;
	r[4] = 31;
	memset(r + 8, ' ', 28);
	memcpy(r + 8, s->name, strnlen(s->name, 24));
	s->reply_len = 36;
}

static void capacity(struct stick_model *s)
{
	uint64_t last = s->sectors - 1;
	put32(s->reply, last > 0xffffffff ? 0xffffffff : (uint32_t)last);
	put32(s->reply + 4, s->sector_bytes);
	s->reply_len = 8;
}

static void capacity16(struct stick_model *s)
{
	memset(s->reply, 0, 32);
	put32(s->reply, (uint32_t)((s->sectors - 1) >> 32));
	put32(s->reply + 4, (uint32_t)(s->sectors - 1));
	put32(s->reply + 8, s->sector_bytes);
	s->reply_len = 32;
}

static void request_sense(struct stick_model *s)
{
	memset(s->reply, 0, 18);
	s->reply[0] = 0x70;
	s->reply[2] = s->sense.key;
	s->reply[7] = 10;
	s->reply[12] = s->sense.code;
	s->reply[13] = s->sense.more;
	s->reply_len = 18;
	s->sense = (struct stick_sense){0};
	if (s->no_sense)
		fails(s, (struct stick_sense){5, 0x20, 0});
}

/* Carries a command out, but for the data of reads and writes. */
static void carry_out(struct stick_model *s)
{
	uint8_t op = cdb(s)[0];
	uint64_t sector;
	uint32_t n;
	bool medium = !s->removed && s->cbw[13] == s->lun;
	s->commands++;
	s->count[op]++;
	s->failed = false;
	s->reply_len = 0;
	if (s->fails && op == s->fails_op) {
		s->fails--;
		fails(s, s->sense_of);
	} else if (op == 0x12) {
		inquiry(s);
	} else if (op == 0x03) {
		request_sense(s);
	} else if (!medium) {
		fails(s, (struct stick_sense){2, 0x3a, 0});
	} else if (op == 0x25) {
		capacity(s);
	} else if (op == 0x9e) {
		capacity16(s);
	} else if (op == 0x1a && !s->no_mode) {
		memset(s->reply, 0, 4);
		s->reply[0] = 3;
		s->reply[2] = s->is_protected ? 0x80 : 0;
		s->reply_len = 4;
	} else if (op == 0x28 || op == 0x88) {
		if (!place(s, &sector, &n) || n * s->sector_bytes != expected(s))
			fails(s, (struct stick_sense){5, 0x21, 0});
		else
			s->reply_len = n * s->sector_bytes;
	} else if (op == 0x2a || op == 0x8a) {
		if (!place(s, &sector, &n) || n * s->sector_bytes != expected(s))
			fails(s, (struct stick_sense){5, 0x21, 0});
		else if (s->is_protected)
			fails(s, (struct stick_sense){7, 0x27, 0});
	} else if (op != 0x00 && op != 0x1b && (op != 0x35 || s->no_sync)) {
		fails(s, (struct stick_sense){5, 0x20, 0});
	}
}

static int take_command(struct stick_model *s, const uint8_t *data, uint32_t len)
{
	if (s->phase != COMMAND)
		pci_model_fault("a command block in phase %u", s->phase);
	if (len != 31 || load32(data) != 0x43425355) {
		pci_model_fault("%u bytes are no command block", len);
		return USB_FAKE_STALL;
	}
	if (s->commands && load32(data + 4) == load32(s->cbw + 4))
		pci_model_fault("two commands have one tag");
	memcpy(s->cbw, data, 31);
	if (s->cbw[13] > 15 || s->cbw[14] > 16 || !s->cbw[14] || (s->cbw[12] & 0x7f))
		pci_model_fault("a command block that means nothing");
	s->done = 0;
	carry_out(s);
	s->phase = !expected(s) ? STATUS : s->cbw[12] ? DATA_IN : DATA_OUT;
	return 31;
}

static int give_data(struct stick_model *s, uint8_t *data, uint32_t len)
{
	uint64_t sector;
	uint32_t n;
	uint8_t op = cdb(s)[0];
	s->phase = STATUS;
	if (len != expected(s))
		pci_model_fault("%u bytes of data asked for, not %u", len, expected(s));
	if (s->failed) { /* no data: the pipe is halted */
		s->halted_in = true;
		return USB_FAKE_STALL;
	}
	if (op == 0x28 || op == 0x88) {
		place(s, &sector, &n);
		memcpy(data, at(s, sector), len);
		s->done = len;
		return (int)len;
	}
	s->done = min_u32(len, s->reply_len);
	memcpy(data, s->reply, s->done);
	return (int)s->done;
}

static int take_data(struct stick_model *s, const uint8_t *data, uint32_t len)
{
	uint64_t sector;
	uint32_t n;
	s->phase = STATUS;
	if (s->failed) {
		s->halted_out = true;
		return USB_FAKE_STALL;
	}
	place(s, &sector, &n);
	memcpy(at(s, sector), data, len);
	s->done = len;
	return (int)len;
}

static int give_status(struct stick_model *s, uint8_t *data, uint32_t len)
{
	if (len != 13)
		pci_model_fault("%u bytes of status asked for", len);
	store32(data, 0x53425355);
	memcpy(data + 4, s->cbw + 4, 4);
	store32(data + 8, expected(s) - s->done);
	data[12] = s->failed;
	s->phase = COMMAND;
	switch (s->status_fault) {
	case STICK_BAD_SIGNATURE:
		data[0] ^= 1;
		break;
	case STICK_BAD_TAG:
		data[4] ^= 1;
		break;
	case STICK_BAD_STATUS:
		data[12] = 2;
		break;
	case STICK_ODD_STATUS:
		data[12] = 7;
		break;
	case STICK_LYING_RESIDUE:
		store32(data + 8, 0x01020304);
		break;
	default:
		break;
	}
	if (s->status_fault && s->status_fault != STICK_LYING_RESIDUE)
		s->phase = LOST;
	s->status_fault = STICK_NO_FAULT;
	return 13;
}

static int bulk(struct stick_model *s, bool in, uint8_t *data, uint32_t len)
{
	if (in ? s->halted_in : s->halted_out)
		return USB_FAKE_STALL;
	if (s->phase == LOST) { /* only a reset helps */
		if (!in && len == 31 && !s->no_reset)
			pci_model_fault("a command block without a reset");
		*(in ? &s->halted_in : &s->halted_out) = true;
		return USB_FAKE_STALL;
	}
	if (!in)
		return s->phase == DATA_OUT ? take_data(s, data, len) : take_command(s, data, len);
	if (s->phase == DATA_IN)
		return give_data(s, data, len);
	if (s->phase == STATUS)
		return give_status(s, data, len);
	pci_model_fault("a transfer IN in phase %u", s->phase);
	return USB_FAKE_STALL;
}

/* The fault of this transfer. */
static enum stick_fault fault_now(struct stick_model *s)
{
	s->transfers++;
	bool now = s->fault_at &&
	           (s->repeat ? s->transfers >= s->fault_at : s->transfers == s->fault_at);
	if (now && s->fault >= STICK_BAD_SIGNATURE) {
		s->status_fault = s->fault;
		return STICK_NO_FAULT;
	}
	return now ? s->fault : STICK_NO_FAULT;
}

/* What a faulty transfer answers. `got` is what a good one would. */
static int spoil(struct stick_model *s, enum stick_fault fault, bool in, uint8_t *data, int got)
{
	switch (fault) {
	case STICK_BROKEN:
		s->phase = LOST;
		return USB_FAKE_BROKEN;
	case STICK_SHORT:
		s->phase = in && s->phase == COMMAND ? LOST : in ? s->phase : LOST;
		if (in && got > 0)
			memset(data + got / 2, 0xee, (size_t)(got - got / 2));
		return got > 0 ? got / 2 : got;
	case STICK_EMPTY:
		return got > 0 ? 0 : got;
	case STICK_GARBAGE:
		if (in && got > 0)
			memset(data, 0xa5, (size_t)got);
		if (s->phase == COMMAND)
			s->phase = LOST;
		return got;
	default:
		return got;
	}
}

static int transfer(struct usb_fake_device *d, uint8_t endpoint, uint8_t *data, uint32_t len)
{
	struct stick_model *s = (struct stick_model *)d;
	bool in = (endpoint & 0x80) != 0;
	if (s->silent || s->mute)
		return USB_FAKE_SILENT;
	enum stick_fault fault = fault_now(s);
	uint8_t phase = s->phase;
	if (fault == STICK_NO_FAULT)
		return bulk(s, in, data, len);
	if (fault == STICK_STALLS) {
		*(in ? &s->halted_in : &s->halted_out) = true;
		/* A stall of data leads on to the status; a stalled status is given later. */
		if (phase == COMMAND)
			s->phase = LOST;
		else if (phase != STATUS && phase != LOST) {
			s->phase = STATUS;
			s->failed = true;
		}
		return USB_FAKE_STALL;
	}
	if (fault == STICK_SILENT || fault == STICK_MUTE) {
		s->phase = LOST; /* the host will reset it */
		s->silent = true;
		s->mute = fault == STICK_MUTE;
		return USB_FAKE_SILENT;
	}
	if (fault == STICK_EMPTY && in && phase == STATUS)
		return 0; /* the next one has it */
	return spoil(s, fault, in, data, bulk(s, in, data, len));
}

static int control(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data, uint32_t len)
{
	struct stick_model *s = (struct stick_model *)d;
	(void)len;
	if (setup[1] == 5 && !setup[0]) { /* SET_ADDRESS: the port was reset */
		s->phase = COMMAND;
		s->halted_in = s->halted_out = s->silent = s->mute = false;
		s->silent_setup[1] = 0;
		store32(s->cbw + 4, 0);
	}
	bool class = (setup[0] & 0x60) == 0x20, clears = setup[0] == 2 && setup[1] == 1;
	if (!class && !clears)
		return USB_FAKE_PASS;
	if (s->mute || (s->silent_setup[1] && !memcmp(setup, s->silent_setup, 8)))
		return USB_FAKE_SILENT;
	s->silent_setup[1] = 0;
	switch (fault_now(s)) {
	case STICK_STALLS:
		return USB_FAKE_STALL;
	case STICK_MUTE:
		s->mute = true;
		return USB_FAKE_SILENT;
	case STICK_SILENT:
		memcpy(s->silent_setup, setup, 8);
		return USB_FAKE_SILENT;
	case STICK_BROKEN:
		return USB_FAKE_BROKEN;
	default:
		break;
	}
	if (clears) {
		s->clears++;
		*(setup[4] & 0x80 ? &s->halted_in : &s->halted_out) = false;
		return 0;
	}
	if (setup[0] == 0x21 && setup[1] == 0xff) {
		s->resets++;
		if (s->no_reset)
			return USB_FAKE_STALL;
		s->phase = COMMAND;
		s->silent = false;
		s->status_fault = STICK_NO_FAULT;
		return 0;
	}
	if (setup[0] != 0xa1 || setup[1] != 0xfe || s->max_lun == 0xff)
		return USB_FAKE_STALL;
	data[0] = s->max_lun;
	return 1;
}

void stick_model_init(struct stick_model *s, uint8_t speed, uint8_t *bytes, uint64_t sectors,
                      uint32_t sector_bytes)
{
	memset(s, 0, sizeof *s);
	usb_fake_stick(&s->usb, speed);
	s->usb.control = control;
	s->usb.transfer = transfer;
	s->bytes = bytes;
	s->sectors = s->mapped = sectors;
	s->sector_bytes = sector_bytes;
	s->name = "ACME    Stick";
}
