/* See http_page.h. */
#include "apps/http/http_page.h"

#define STATIC_PIECE 1024u /* bytes of a template at once */

/* The slot whose name stands at `text` and ends with "}}"; NULL: there is none. */
static const struct http_slot *slot_at(const struct http_page *p, const char *text, size_t *len)
{
	for (uint32_t i = 0; i < p->n_slots; i++) {
		*len = strlen(p->slot[i].name);
		if (strncmp(text, p->slot[i].name, *len) == 0 && strncmp(text + *len, "}}", 2) == 0)
			return &p->slot[i];
	}
	return NULL;
}

/* Writes the next piece of a slot, and leaves it behind its last. */
static void write_slot(struct gw *gw, struct http_job *job, struct http_out *o)
{
	size_t len;
	const struct http_slot *slot = slot_at(job->page, job->page->text + job->at + 2, &len);
	if (!slot) { /* a mistake in the template: shown as it stands */
		http_put(o, "{{", 2);
		job->at += 2;
		return;
	}
	if (slot->write(gw, job, o))
		return;
	job->at += (uint32_t)len + 4;
	job->step = job->n = job->hint = 0;
	job->cursor = 0;
	job->name[0] = '\0';
}

bool http_template(struct gw *gw, struct http_job *job, struct http_out *o)
{
	const char *text = job->page->text;
	uint32_t begin = job->at, end = job->at;
	o->cost++;
	if (strncmp(text + begin, "{{", 2) == 0) {
		write_slot(gw, job, o);
		return job->at < job->page->len;
	}
	while (end < job->page->len && end - begin < STATIC_PIECE &&
	       strncmp(text + end, "{{", 2) != 0)
		end++;
	http_put(o, text + begin, end - begin);
	job->at = end;
	return end < job->page->len;
}
