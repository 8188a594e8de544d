/* The listings of the console: each writes one line a call and keeps its place, so the longest
 * table never delays forwarding. */
#ifndef KERNEL_SHELL_LIST_H
#define KERNEL_SHELL_LIST_H

#include "kernel/lib/addr.h"
#include "kernel/lib/fmt.h"
#include "net/stats/lines.h"
#include "net/gw.h"

/* A listing that is being printed. */
struct shell_list {
	struct gw *gw;
	const char *argument;     /* what stands behind the command; empty: nothing */
	uint32_t terminal;        /* enum console_terminal: where it was typed */
	uint64_t cursor;          /* 0 at first */
	struct lines_count count; /* all zeros at first */
	char address[FMT_IP6];    /* of shell_list_sessions_of: the argument as fmt writes it */
};

/* What a call of a listing gives. */
enum shell_step {
	SHELL_END,  /* there is no line any more */
	SHELL_LINE, /* buf holds a line; an empty one is not printed */
	SHELL_WAIT, /* there is no line yet: the listing waits for time or frames */
};

/* Writes the next line into buf, which holds an empty line before the call. */
typedef enum shell_step (*shell_listing)(struct shell_list *l, char *buf, size_t size);

/* `stats`: every counter; with an argument those that lines_want_stat chooses. */
enum shell_step shell_list_stats(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_interfaces(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_addresses(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_leases(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_time(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_receivers(struct shell_list *l, char *buf, size_t size);
/* `release` and `renew` of the lease of the WAN. */
enum shell_step shell_list_release(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_renew(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_neighbours(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_routes(struct shell_list *l, char *buf, size_t size);
/* Dropped frames: decoded, and as bytes. */
enum shell_step shell_list_drops(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_drops_raw(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_capture(struct shell_list *l, char *buf, size_t size);
/* `sessions`: all; those with the address that the argument names; how many there are. */
enum shell_step shell_list_sessions(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_sessions_count(struct shell_list *l, char *buf, size_t size);
/* `ping` and `traceroute` to the address that the argument names. */
enum shell_step shell_list_ping(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_traceroute(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_timings(struct shell_list *l, char *buf, size_t size);
/* `config`: all keys; those whose value is not the default. */
enum shell_step shell_list_config(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_config_changed(struct shell_list *l, char *buf, size_t size);
/* `help WORD`: the keys of the configuration that begin so. The cursor's upper half is not 0. */
enum shell_step shell_list_help(struct shell_list *l, char *buf, size_t size);
/* `hw`: the machine, its PCI devices, its cards and the registers of their PHYs
 * (kernel/shell_list_hw.c). */
enum shell_step shell_list_hw(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_usb(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_log(struct shell_list *l, char *buf, size_t size);
/* `address` and `route`: carry out the change that the argument names (net/setup/gw_change.h). */
enum shell_step shell_list_address(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_route(struct shell_list *l, char *buf, size_t size);
/* `stick`: saves a file that the argument describes (kernel/shell_list_stick.c). */
enum shell_step shell_list_stick(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_list_random(struct shell_list *l, char *buf, size_t size);

#endif
