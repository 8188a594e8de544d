/* USB storage above the real core, with sticks behind a fake controller: what they say, how they
 * fail, and every fault of the transport at every transfer. */
#include "drivers/usb/storage/storage.h"

#include "drivers/block/block.h"
#include "drivers/usb/usb_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"
#include "tests/models/stick_model.h"
#include "tests/tap.h"

#define SECTORS 64u

const struct usb_driver *const usb_drivers[] = {&usb_fake_first, &usb_fake_second};
const uint32_t n_usb_drivers = 2;
const struct usb_class *const usb_classes[] = {&usb_hub_class, &storage_class};
const uint32_t n_usb_classes = 2;

static struct usb_fake fake;
static struct stick_model stick[6];
static uint8_t medium[6][SECTORS * 4096];
static struct block_request request;
static uint8_t *buf;

static void start(void)
{
	pci_model_reset();
	host_arena(4u << 20);
	log_reset();
	log_time(0);
	block_reset();
	host_now_us = 1000000;
	usb_fake_init(&fake, 0, 0xfd, 8);
	usb_init();
	buf = alloc(4096, 4096);
	for (uint32_t i = 0; i < ARRAY_SIZE(stick); i++) {
		for (uint32_t k = 0; k < sizeof medium[i]; k++)
			medium[i][k] = (uint8_t)(k * 13 + k / 512 + i);
		stick_model_init(&stick[i], USB_HIGH, medium[i], SECTORS, 512);
	}
}

static void plug(uint32_t i)
{
	usb_fake_plug(&fake, (uint8_t)(i + 1), &stick[i].usb);
}

static void unplug(uint32_t i)
{
	usb_fake_plug(&fake, (uint8_t)(i + 1), NULL);
}

static void poll_once(void)
{
	host_now_us += usb_busy() ? 1000 : 10000;
	usb_poll(host_now_us);
}

static void run(uint32_t ms)
{
	for (uint64_t end = host_now_us + ms * 1000ull; host_now_us < end;)
		poll_once();
}

/* Runs until there is a block device, at most a minute. */
static struct block_device *come_up(uint32_t i)
{
	plug(i);
	for (uint32_t k = 0; k < 600 && !block_at(0); k++)
		run(100);
	return block_at(0);
}

static unsigned said(const char *text)
{
	char line[LOG_LINE];
	unsigned n = 0;
	for (uint64_t cursor = 0; log_next(&cursor, line, sizeof line);)
		n += strstr(line, text) != NULL;
	return n;
}

static void end(void)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(stick); i++)
		unplug(i);
	run(3000);
	CHECK(!block_at(0));
	CHECK(!block_expected());
	CHECK_EQ(pci_model_faults(), 0);
}

/* Carries a request out. At most five minutes pass. */
static enum block_result carry_out(struct block_device *d, enum block_op op, uint64_t sector,
                                   uint32_t count)
{
	request = (struct block_request){.op = op, .sector = sector, .count = count, .data = buf};
	block_submit(d, &request);
	for (uint64_t until = host_now_us + 300000000;
	     request.result == BLOCK_PENDING && host_now_us < until;)
		poll_once();
	return request.result;
}

static void one(struct stick_sense sense, uint8_t op, uint32_t times)
{
	stick[0].fails_op = op;
	stick[0].fails = times;
	stick[0].sense_of = sense;
}

/* --- coming up ----------------------------------------------------------------------------- */

static void a_stick_is_a_block_device(void)
{
	start();
	struct block_device *d = come_up(0);
	CHECK(d != NULL);
	if (!d)
		return;
	CHECK_STR(d->name, "ACME Stick");
	CHECK_EQ(d->sector_bytes, 512);
	CHECK_EQ(d->sectors, SECTORS);
	CHECK(!d->read_only);
	CHECK_EQ(said("usb storage: ACME Stick, 0 MB"), 1);
	/* Nothing was read, and nothing is asked from then on. */
	CHECK_EQ(stick[0].count[0x28] + stick[0].count[0x88], 0);
	uint32_t transfers = stick[0].transfers;
	run(60000);
	CHECK_EQ(stick[0].transfers, transfers);

	CHECK_EQ(carry_out(d, BLOCK_READ, 5, 3), BLOCK_OK);
	CHECK(memcmp(buf, medium[0] + 5 * 512, 3 * 512) == 0);
	for (uint32_t i = 0; i < 4096; i++)
		buf[i] = (uint8_t)(i * 3);
	CHECK_EQ(carry_out(d, BLOCK_WRITE, SECTORS - 8, 8), BLOCK_OK);
	CHECK(memcmp(buf, medium[0] + (SECTORS - 8) * 512, 4096) == 0);
	CHECK_EQ(carry_out(d, BLOCK_FLUSH, 0, 0), BLOCK_OK);
	CHECK_EQ(stick[0].count[0x35], 1);
	/* Beyond the end, too much, and nothing. */
	CHECK_EQ(carry_out(d, BLOCK_READ, SECTORS, 1), BLOCK_FAILED);
	CHECK_EQ(carry_out(d, BLOCK_READ, SECTORS - 1, 2), BLOCK_FAILED);
	CHECK_EQ(carry_out(d, BLOCK_READ, 0, 9), BLOCK_FAILED);
	CHECK_EQ(carry_out(d, BLOCK_READ, 0, 0), BLOCK_FAILED);
	CHECK_EQ(stick[0].count[0x28], 1);
	CHECK_EQ(stick[0].resets, 0);
	end();
}

static void units_may_be_refused_or_absurd(void)
{
	static const uint8_t max[] = {0xff, 0, 3, 15, 16, 200};
	for (uint32_t i = 0; i < ARRAY_SIZE(max); i++) {
		start();
		stick[0].max_lun = max[i];
		CHECK(come_up(0) != NULL);
		CHECK_EQ(stick[0].count[0x12], 1);
		end();
	}
}

/* A card reader with the card in the third slot; a stick that is a CD at first. */
static void the_first_unit_with_a_medium(void)
{
	start();
	stick[0].max_lun = 3;
	stick[0].lun = 2;
	CHECK(come_up(0) != NULL);
	CHECK_EQ(stick[0].count[0x12], 3);
	end();
	start();
	stick[0].max_lun = 1;
	stick[0].lun = 1;
	stick[0].type[0] = 5;
	CHECK(come_up(0) != NULL);
	end();
	start();
	stick[0].type[0] = 5;
	stick[0].max_lun = 200; /* cannot be: one unit */
	CHECK(come_up(0) == NULL);
	CHECK_EQ(stick[0].count[0x12], 1);
	CHECK_EQ(said("is no disk; it is not used"), 1);
	CHECK(!block_expected());
	end();
}

static void sectors_of_other_sizes(void)
{
	static const struct {
		uint32_t bytes;
		bool used;
	} size[] = {{512, true},  {1024, true}, {2048, true},  {4096, true},       {0, false},
	            {520, false}, {256, false}, {8192, false}, {0xffffffff, false}};
	for (uint32_t i = 0; i < ARRAY_SIZE(size); i++) {
		start();
		stick[0].sector_bytes = size[i].bytes;
		struct block_device *d = come_up(0);
		CHECK_EQ(d != NULL, size[i].used);
		if (d) {
			CHECK_EQ(d->sector_bytes, size[i].bytes);
			CHECK_EQ(carry_out(d, BLOCK_READ, 2, 1), BLOCK_OK);
			CHECK(memcmp(buf, medium[0] + 2 * size[i].bytes, size[i].bytes) == 0);
		} else {
			CHECK_EQ(said("not used"), 1);
		}
		end();
	}
}

static void three_terabytes(void)
{
	start();
	stick[0].sectors = 6000000000;
	struct block_device *d = come_up(0);
	CHECK(d && d->sectors == 6000000000);
	if (!d)
		return;
	CHECK_EQ(said("ACME Stick, 2929687 MB"), 1);
	CHECK_EQ(carry_out(d, BLOCK_READ, 0xfffffff0, 8), BLOCK_OK);
	CHECK_EQ(stick[0].count[0x28], 1);
	CHECK_EQ(carry_out(d, BLOCK_READ, 0xfffffff9, 8), BLOCK_OK);
	CHECK_EQ(carry_out(d, BLOCK_READ, 5999999999, 1), BLOCK_OK);
	CHECK(memcmp(buf, medium[0] + 5999999999 % SECTORS * 512, 512) == 0);
	CHECK_EQ(carry_out(d, BLOCK_WRITE, 5999999998, 2), BLOCK_OK);
	CHECK_EQ(stick[0].count[0x88], 2);
	CHECK_EQ(stick[0].count[0x8a], 1);
	end();
	start();
	stick[0].sectors = 0; /* the last sector is number 2^64 - 1 */
	CHECK(come_up(0) == NULL);
	end();
}

static void write_protected(void)
{
	start();
	stick[0].is_protected = true;
	struct block_device *d = come_up(0);
	CHECK(d && d->read_only);
	if (!d)
		return;
	CHECK_EQ(said("MB, write-protected"), 1);
	CHECK_EQ(carry_out(d, BLOCK_WRITE, 0, 1), BLOCK_PROTECTED);
	CHECK_EQ(stick[0].count[0x2a], 0);
	end();
	/* MODE SENSE is unknown: only the write shows it. */
	start();
	stick[0].is_protected = stick[0].no_mode = true;
	d = come_up(0);
	CHECK(d && !d->read_only);
	if (!d)
		return;
	CHECK_EQ(carry_out(d, BLOCK_WRITE, 0, 1), BLOCK_PROTECTED);
	end();
}

/* --- becoming ready ------------------------------------------------------------------------ */

static void it_becomes_ready(void)
{
	static const struct {
		struct stick_sense sense;
		uint32_t times;
		bool comes;
	} asked[] = {
	        {{6, 0x28, 0}, 1, true},       {{6, 0x29, 0}, 3, true},
	        {{2, 0x3a, 0}, 2, true},       {{2, 0x04, 1}, 200, true},
	        {{2, 0x04, 1}, 400, false},    {{6, 0x28, 0}, 400, false},
	        {{4, 0x44, 0}, 20, true},      {{4, 0x44, 0}, 400, false},
	        {{0, 0, 0}, 5, true},          {{2, 0x04, 0x02}, 1, true},
	        {{2, 0x04, 0x02}, 999, false},
	};
	for (uint32_t i = 0; i < ARRAY_SIZE(asked); i++) {
		start();
		one(asked[i].sense, 0x00, asked[i].times);
		CHECK_EQ(come_up(0) != NULL, asked[i].comes);
		CHECK_EQ(said("does not become ready; it is not used"), !asked[i].comes);
		CHECK_EQ(stick[0].count[0x1b], asked[i].sense.more == 2);
		CHECK_EQ(said("no medium"), 0);
		CHECK(!block_expected());
		uint32_t transfers = stick[0].transfers;
		run(10000);
		CHECK_EQ(stick[0].transfers, transfers);
		end();
	}
}

static void each_question_fails(void)
{
	static const uint8_t op[] = {0x12, 0x25, 0x9e, 0x1a};
	for (uint32_t i = 0; i < ARRAY_SIZE(op); i++)
		for (uint32_t times = 1; times <= 20; times += 19) {
			start();
			if (op[i] == 0x9e)
				stick[0].sectors = 6000000000;
			one((struct stick_sense){4, 0, 0}, op[i], times);
			bool comes = times == 1 || op[i] == 0x1a;
			CHECK_EQ(come_up(0) != NULL, comes);
			CHECK_EQ(said("does not say"), !comes);
			end();
		}
	/* Even REQUEST SENSE fails. */
	start();
	one((struct stick_sense){4, 0, 0}, 0x00, 10);
	stick[0].no_sense = true;
	CHECK(come_up(0) != NULL);
	end();
}

/* A card reader: a card is put in, pulled while it is in use, and put in again. */
static void a_medium_comes_and_goes(void)
{
	start();
	stick[0].removed = true;
	plug(0);
	run(20000);
	CHECK(!block_at(0));
	CHECK(!block_expected());
	CHECK_EQ(said("ACME Stick: no medium"), 1);
	stick[0].removed = false;
	run(3000);
	struct block_device *d = block_at(0);
	CHECK(d != NULL);
	if (!d)
		return;
	uint32_t number = d->number;
	CHECK_EQ(carry_out(d, BLOCK_READ, 0, 1), BLOCK_OK);
	stick[0].removed = true;
	CHECK_EQ(carry_out(d, BLOCK_READ, 0, 1), BLOCK_GONE);
	run(10000);
	CHECK(!block_at(0));
	CHECK_EQ(said("no medium"), 2);
	stick[0].removed = false;
	run(3000);
	CHECK(block_at(0) && block_at(0)->number != number);
	/* Another card is in by the time of the next request. */
	one((struct stick_sense){6, 0x28, 0}, 0x2a, 1);
	CHECK_EQ(carry_out(d, BLOCK_WRITE, 0, 1), BLOCK_GONE);
	CHECK(!block_at(0));
	CHECK(block_expected());
	run(1000);
	CHECK(block_at(0) != NULL);
	end();
}

/* "The medium was changed", or is gone, at each read: it is given up after three appearances, and
 * one that can be read in between, which may go on, does not fill the log. */
static void a_medium_that_changes_again_and_again(void)
{
	for (uint32_t reads = 0; reads < 2; reads++) {
		uint32_t gone = 0;
		start();
		for (struct block_device *d = come_up(0); d && gone < 50; d = block_at(0), gone++) {
			log_time(host_now_us);
			CHECK(!reads || carry_out(d, BLOCK_READ, 0, 1) == BLOCK_OK);
			one((struct stick_sense){gone % 2 ? 2 : 6, gone % 2 ? 0x3a : 0x28, 0}, 0x28,
			    1);
			CHECK_EQ(carry_out(d, BLOCK_READ, 0, 1), BLOCK_GONE);
			run(100);
		}
		CHECK_EQ(gone, reads ? 50 : 3);
		CHECK_EQ(said("its medium was changed; it is not used"), !reads);
		CHECK(said("ACME Stick, 0 MB") <= 4);
		end();
	}
}

/* --- requests ------------------------------------------------------------------------------ */

static void requests_fail(void)
{
	static const struct {
		struct stick_sense sense;
		uint8_t op;
		uint32_t times;
		enum block_result result;
	} with[] = {
	        {{3, 0x11, 0}, 0x28, 1, BLOCK_OK},        {{3, 0x11, 0}, 0x28, 99, BLOCK_FAILED},
	        {{3, 0x0c, 0}, 0x2a, 99, BLOCK_FAILED},   {{0xb, 0, 6}, 0x2a, 99, BLOCK_FAILED},
	        {{6, 0x29, 0}, 0x2a, 2, BLOCK_OK},        {{6, 0x29, 0}, 0x2a, 99, BLOCK_FAILED},
	        {{2, 0x04, 1}, 0x2a, 50, BLOCK_OK},       {{2, 0x04, 1}, 0x2a, 999, BLOCK_FAILED},
	        {{7, 0x27, 0}, 0x2a, 1, BLOCK_PROTECTED}, {{7, 0x27, 7}, 0x2a, 1, BLOCK_NO_ROOM},
	        {{5, 0x20, 0}, 0x2a, 99, BLOCK_FAILED},   {{5, 0x20, 0}, 0x35, 99, BLOCK_OK},
	        {{5, 0x24, 0}, 0x35, 99, BLOCK_OK},       {{3, 0x0c, 0}, 0x35, 99, BLOCK_FAILED},
	        {{3, 0x0c, 0}, 0x35, 1, BLOCK_OK},        {{4, 0x44, 0}, 0x35, 99, BLOCK_FAILED},
	};
	start();
	struct block_device *d = come_up(0);
	if (!d)
		abort();
	for (uint32_t i = 0; i < ARRAY_SIZE(with); i++) {
		one(with[i].sense, with[i].op, with[i].times);
		enum block_op op = with[i].op == 0x28   ? BLOCK_READ
		                   : with[i].op == 0x2a ? BLOCK_WRITE
		                                        : BLOCK_FLUSH;
		uint64_t before = host_now_us;
		CHECK_EQ(carry_out(d, op, 3, op == BLOCK_FLUSH ? 0 : 1), with[i].result);
		CHECK(host_now_us - before < 31000000);
		stick[0].fails = 0;
		CHECK_EQ(carry_out(d, BLOCK_READ, 1, 1), BLOCK_OK);
	}
	stick[0].no_sync = true;
	CHECK_EQ(carry_out(d, BLOCK_FLUSH, 0, 0), BLOCK_OK);
	end();
}

static void unplugged_in_the_middle(void)
{
	for (uint32_t polls = 0; polls < 12; polls++) {
		start();
		struct block_device *d = come_up(0);
		if (!d)
			abort();
		uint32_t number = d->number;
		request = (struct block_request){
		        .op = BLOCK_WRITE, .sector = 1, .count = 8, .data = buf};
		block_submit(d, &request);
		for (uint32_t i = 0; i < polls && request.result == BLOCK_PENDING; i++)
			poll_once();
		bool done = request.result == BLOCK_OK;
		unplug(0);
		run(200);
		CHECK(done || request.result == BLOCK_GONE);
		CHECK(!block_at(0));
		CHECK_EQ(carry_out(d, BLOCK_READ, 0, 1), BLOCK_GONE);
		plug(0);
		run(3000);
		CHECK(block_at(0) && block_at(0)->number != number);
		end();
	}
}

/* --- faults of the transport --------------------------------------------------------------- */

/* Brings a stick up, writes, empties its cache and reads. True when all went well. */
static bool whole_life(void)
{
	struct block_device *d = come_up(0);
	bool good = d != NULL;
	for (uint32_t i = 0; i < 512; i++)
		buf[i] = (uint8_t)(i * 5 + 1);
	good = good && carry_out(d, BLOCK_WRITE, 7, 1) == BLOCK_OK;
	if (good)
		CHECK(medium[0][7 * 512] == 1 &&
		      medium[0][7 * 512 + 511] == (uint8_t)(511 * 5 + 1));
	good = good && carry_out(d, BLOCK_FLUSH, 0, 0) == BLOCK_OK;
	memset(buf, 0, 512);
	good = good && carry_out(d, BLOCK_READ, 7, 1) == BLOCK_OK;
	if (good && stick[0].fault != STICK_GARBAGE) /* the transport has no checksum */
		CHECK(buf[0] == 1 && buf[511] == (uint8_t)(511 * 5 + 1));
	return good;
}

/* One fault is overcome, wherever it comes: by clearing, by a reset of the transport or of the
 * port. Only wrong answers that look right may make the stick unusable. */
static void each_fault_at_each_transfer(void)
{
	start();
	CHECK(whole_life());
	uint32_t n = stick[0].transfers;
	CHECK_EQ(n, 20);
	end();
	for (uint32_t fault = 1; fault < STICK_FAULTS; fault++)
		for (uint32_t k = 1; k <= n; k++) {
			start();
			stick[0].fault = fault;
			stick[0].fault_at = k;
			bool good = whole_life();
			if (!good && (fault == STICK_MUTE || fault == STICK_SILENT)) {
				/* The port was reset; what was under way failed. */
				run(5000);
				stick[0].fault_at = 0;
				good = block_at(0) &&
				       carry_out(block_at(0), BLOCK_READ, 7, 1) == BLOCK_OK;
			}
			bool lies = fault == STICK_GARBAGE || fault == STICK_SHORT ||
			            fault == STICK_EMPTY;
			CHECK(good || lies);
			if (!good && !lies)
				printf("# fault %u at transfer %u of %u\n", fault, k, n);
			end();
		}
}

/* The fault stays: the stick is given up within a bounded number of transfers. */
static void faults_that_stay(void)
{
	for (uint32_t fault = 1; fault < STICK_FAULTS; fault++)
		for (uint32_t k = 1; k <= 26; k += 5) {
			start();
			stick[0].fault = fault;
			stick[0].fault_at = k;
			stick[0].repeat = true;
			whole_life();
			run(120000);
			CHECK(request.result != BLOCK_PENDING);
			uint32_t transfers = stick[0].transfers;
			run(600000);
			/* The core lets a few resets of the port through in each minute. */
			CHECK(stick[0].transfers - transfers < 1500);
			CHECK(said("storage") < 60);
			end();
		}
}

/* A status that is not there at the first time needs no reset. */
static void the_status_is_asked_for_twice(void)
{
	for (uint32_t fault = 0; fault < 2; fault++) {
		start();
		struct block_device *d = come_up(0);
		if (!d)
			abort();
		stick[0].fault = fault ? STICK_STALLS : STICK_EMPTY;
		stick[0].fault_at = stick[0].transfers + 3;
		CHECK_EQ(carry_out(d, BLOCK_READ, 3, 1), BLOCK_OK);
		CHECK(memcmp(buf, medium[0] + 3 * 512, 512) == 0);
		CHECK_EQ(stick[0].resets, 0);
		CHECK_EQ(stick[0].count[0x28], 1);
		end();
	}
}

static void a_stick_that_refuses_its_reset(void)
{
	start();
	stick[0].no_reset = true;
	struct block_device *d = come_up(0);
	if (!d)
		abort();
	stick[0].fault = STICK_BAD_TAG;
	stick[0].fault_at = stick[0].transfers + 3;
	/* The model does not come back without its reset: the port is reset. */
	CHECK_EQ(carry_out(d, BLOCK_READ, 0, 1), BLOCK_FAILED);
	CHECK_EQ(said("does not answer; its port is reset"), 1);
	run(5000);
	CHECK(block_at(0) != NULL);
	end();
}

/* --- several ------------------------------------------------------------------------------- */

static void four_at_once_and_no_more(void)
{
	start();
	for (uint32_t i = 0; i < 6; i++)
		plug(i);
	run(5000);
	CHECK_EQ(said("too many devices"), 2);
	CHECK(block_at(3) && !block_at(4));
	static struct block_request r[4];
	for (uint32_t i = 0; i < 4; i++) {
		r[i] = (struct block_request){
		        .op = BLOCK_READ, .sector = i, .count = 1, .data = alloc(512, 512)};
		block_submit(block_at(i), &r[i]);
	}
	run(100);
	for (uint32_t i = 0; i < 4; i++) {
		CHECK_EQ(r[i].result, BLOCK_OK);
		CHECK(memcmp(r[i].data, medium[i] + i * 512, 512) == 0);
	}
	/* A place becomes free. */
	unplug(1);
	run(300);
	CHECK(block_at(2) && !block_at(3));
	unplug(4);
	run(300);
	plug(4);
	run(3000);
	CHECK(block_at(3) != NULL);
	end();
}

int main(void)
{
	TEST(a_stick_is_a_block_device);
	TEST(units_may_be_refused_or_absurd);
	TEST(the_first_unit_with_a_medium);
	TEST(sectors_of_other_sizes);
	TEST(three_terabytes);
	TEST(write_protected);
	TEST(it_becomes_ready);
	TEST(each_question_fails);
	TEST(a_medium_comes_and_goes);
	TEST(a_medium_that_changes_again_and_again);
	TEST(requests_fail);
	TEST(unplugged_in_the_middle);
	TEST(each_fault_at_each_transfer);
	TEST(faults_that_stay);
	TEST(the_status_is_asked_for_twice);
	TEST(a_stick_that_refuses_its_reset);
	TEST(four_at_once_and_no_more);
	return tap_done();
}
