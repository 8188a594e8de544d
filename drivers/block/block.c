/* See block.h. */
#include "drivers/block/block.h"

static struct block_device *devices[BLOCK_DEVICES];
static uint32_t n_devices;
static uint32_t last_number;
static int expected;

bool block_appear(struct block_device *d)
{
	if (n_devices == BLOCK_DEVICES)
		return false;
	d->number = ++last_number ? last_number : ++last_number;
	d->request = NULL;
	devices[n_devices++] = d;
	return true;
}

void block_vanish(struct block_device *d)
{
	for (uint32_t i = 0; i < n_devices; i++) {
		if (devices[i] != d)
			continue;
		for (n_devices--; i < n_devices; i++)
			devices[i] = devices[i + 1];
	}
	d->number = 0;
	block_done(d, BLOCK_GONE);
}

void block_done(struct block_device *d, enum block_result result)
{
	struct block_request *r = d->request;
	d->request = NULL;
	if (r)
		r->result = result;
}

struct block_device *block_at(uint32_t i)
{
	return i < n_devices ? devices[i] : NULL;
}

void block_expect(int change)
{
	expected += change;
}

bool block_expected(void)
{
	return expected > 0;
}

static bool fits(const struct block_device *d, const struct block_request *r)
{
	return r->count > 0 && r->count <= BLOCK_BYTES / d->sector_bytes &&
	       r->sector < d->sectors && r->count <= d->sectors - r->sector;
}

void block_submit(struct block_device *d, struct block_request *r)
{
	if (!d->number)
		r->result = BLOCK_GONE;
	else if (d->request || (r->op != BLOCK_FLUSH && !fits(d, r)))
		r->result = BLOCK_FAILED;
	else if (r->op == BLOCK_WRITE && d->read_only)
		r->result = BLOCK_PROTECTED;
	else {
		r->result = BLOCK_PENDING;
		d->request = r;
		d->start(d);
	}
}

void block_reset(void)
{
	n_devices = 0;
	expected = 0;
}
