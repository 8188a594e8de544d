/* See block_model.h. */
#include "tests/models/block_model.h"

#include <stdio.h>
#include <stdlib.h>

static uint8_t *copy(const uint8_t *from, uint32_t n)
{
	uint8_t *to = malloc(n);
	if (!to)
		abort();
	memcpy(to, from, n);
	return to;
}

static void note(struct block_model *m, bool flush, uint64_t sector, const uint8_t *data)
{
	if (m->n_log == BLOCK_MODEL_LOG) {
		fprintf(stderr, "block_model: the log is full\n");
		abort();
	}
	uint32_t n = m->device.sector_bytes;
	struct block_model_write *w = &m->log[m->n_log++];
	*w = (struct block_model_write){.flush = flush, .sector = sector};
	if (flush)
		return;
	w->before = copy(m->bytes + sector * n, n);
	w->after = copy(data, n);
}

static enum block_result write_one(struct block_model *m, uint64_t sector, const uint8_t *data)
{
	if (sector < m->first || sector >= m->limit) {
		fprintf(stderr, "block_model: a write outside the volume\n");
		abort();
	}
	if (++m->writes == m->fail_write || sector == m->bad_write)
		return m->failure;
	if (sector == m->forgets)
		return BLOCK_OK;
	note(m, false, sector, data);
	memcpy(m->bytes + sector * m->device.sector_bytes, data, m->device.sector_bytes);
	return BLOCK_OK;
}

static enum block_result carry_out(struct block_model *m, struct block_request *r)
{
	uint32_t n = m->device.sector_bytes;
	enum block_result result = BLOCK_OK;
	if (r->op == BLOCK_FLUSH) {
		if (++m->flushes == m->fail_flush)
			return BLOCK_FAILED;
		note(m, true, 0, NULL);
		return BLOCK_OK;
	}
	for (uint32_t i = 0; i < r->count && result == BLOCK_OK; i++) {
		uint8_t *data = (uint8_t *)r->data + i * n;
		if (r->op == BLOCK_WRITE)
			result = write_one(m, r->sector + i, data);
		else if (++m->reads == m->fail_read || r->sector + i == m->bad_read)
			result = BLOCK_FAILED;
		else
			memcpy(data, m->bytes + (r->sector + i) * n, n);
	}
	return result;
}

static void start(struct block_device *d)
{
	struct block_model *m = d->driver;
	if (m->gone_after && ++m->requests > m->gone_after) {
		block_vanish(d);
		return;
	}
	m->waiting = m->delay;
	if (!m->delay)
		block_done(d, carry_out(m, d->request));
}

void block_model_poll(struct block_model *m)
{
	struct block_request *r = m->device.request;
	if (r && !--m->waiting)
		block_done(&m->device, carry_out(m, r));
}

void block_model_init(struct block_model *m, const char *name, uint8_t *bytes, uint64_t sectors,
                      uint32_t sector_bytes)
{
	memset(m, 0, sizeof *m);
	snprintf(m->device.name, sizeof m->device.name, "%s", name);
	m->device.sector_bytes = sector_bytes;
	m->device.sectors = sectors;
	m->device.start = start;
	m->device.driver = m;
	m->bytes = bytes;
	m->log = calloc(BLOCK_MODEL_LOG, sizeof *m->log);
	m->bad_read = m->bad_write = m->forgets = m->limit = BLOCK_MODEL_NONE;
	m->failure = BLOCK_FAILED;
	if (!m->log || !block_appear(&m->device))
		abort();
}

void block_model_forget(struct block_model *m)
{
	for (uint32_t i = 0; i < m->n_log; i++) {
		free(m->log[i].before);
		free(m->log[i].after);
	}
	m->n_log = 0;
	m->reads = m->writes = m->flushes = m->requests = 0;
}

static void put(struct block_model *m, uint64_t sector, const uint8_t *data)
{
	memcpy(m->bytes + sector * m->device.sector_bytes, data, m->device.sector_bytes);
}

void block_model_undo(struct block_model *m, uint32_t i)
{
	if (!m->log[i].flush)
		put(m, m->log[i].sector, m->log[i].before);
}

void block_model_redo(struct block_model *m, uint32_t i)
{
	if (!m->log[i].flush)
		put(m, m->log[i].sector, m->log[i].after);
}

void block_model_end(struct block_model *m)
{
	block_vanish(&m->device);
	block_model_forget(m);
	free(m->log);
}
