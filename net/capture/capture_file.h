/* Captures as pcapng files (draft-ietf-opsawg-pcapng): blocks of the section, of its interfaces,
 * and of packets, in the machine's byte order. Interfaces have our numbers; one behind them is for
 * packets of our own, which are without an Ethernet header. */
#ifndef NET_CAPTURE_CAPTURE_FILE_H
#define NET_CAPTURE_CAPTURE_FILE_H

#include "net/capture/capture.h"

/* Writes the begin of a file to gw->capture->file; gives its length. */
uint32_t capture_file_begin(struct gw *gw);

/* Writes the packet of a record there, with its way, and with a comment that says why it was
 * dropped, or how many packets before it were overwritten where `lost` is not 0. Gives the length.
 * The time is that of day where it is known, else since boot. */
uint32_t capture_file_packet(struct gw *gw, const struct capture_record *r, uint32_t lost);

#endif
