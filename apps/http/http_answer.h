/* Answers: heads, and bodies in pieces. */
#ifndef APPS_HTTP_HTTP_ANSWER_H
#define APPS_HTTP_HTTP_ANSWER_H

#include "apps/http/http_state.h"

/* Writes the head of the answer to c->request, and its body if it is an error. `status` is 200 for
 * a request that is right. Then c->page is what is to be written, or NULL. False: there is no
 * memory.
 */
bool http_answer_begin(struct gw *gw, struct http *h, struct http_conn *c, uint32_t status);

/* Writes the next piece of c->page; sets it to NULL behind the last. False: there is no memory. */
bool http_answer_more(struct gw *gw, struct http *h, struct http_conn *c);

#endif
