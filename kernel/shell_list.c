/* See shell_list.h. The lines themselves come from their owners: net/stats/gw_show.c, the
 * application's `show`, config_line, log_next. */
#include "kernel/shell_list.h"

#include "drivers/usb/usb.h"
#include "kernel/lib/log.h"
#include "kernel/rcv.h"
#include "net/autoconf/autoconf.h"
#include "net/capture/capture.h"
#include "net/dhcp/dhcp_client.h"
#include "net/dhcp6/dhcp6_client.h"
#include "net/dhcps/dhcps.h"
#include "net/machine.h"
#include "net/probe/probe.h"
#include "net/setup/gw_change.h"
#include "net/export/export.h"
#include "net/sntp/sntp.h"

/* --- counters ------------------------------------------------------------------------ */

enum shell_step shell_list_stats(struct shell_list *l, char *buf, size_t size)
{
	uint32_t i = (uint32_t)l->cursor++;
	if (!l->gw->machine->stat(&i, buf, size) && !gw_show_stats(l->gw, &i, buf, size))
		return SHELL_END;
	if (!lines_want_stat(buf, l->argument))
		buf[0] = '\0';
	return SHELL_LINE;
}

/* --- the gateway ---------------------------------------------------------------------- */

enum shell_step shell_list_interfaces(struct shell_list *l, char *buf, size_t size)
{
	uint32_t i = (uint32_t)l->cursor++;
	if (i >= l->gw->n_iface)
		return SHELL_END;
	const struct interface *iface = &l->gw->iface[i];
	const struct nic *nic = rcv_nic(i);
	char hw[FMT_MAC];
	if (!nic) {
		fmt(buf, size, "%s none", iface->name);
		return SHELL_LINE;
	}
	size_t n = fmt(buf, size, "%s %s %s link=%s", iface->name, nic->driver,
	               fmt_mac(hw, &nic->address), nic->carrier.up ? "up" : "down");
	if (nic->carrier.up && nic->carrier.mbit)
		n += fmt(buf + n, size - n, " %uMbit/s-%s", nic->carrier.mbit,
		         nic->carrier.full_duplex ? "full" : "half");
	if (iface->vlan)
		n += fmt(buf + n, size - n, " vlan=%u", iface->vlan);
	n += fmt(buf + n, size - n, " mtu=%u", iface->mtu);
	if (iface->n_addr || iface->n_addr6)
		n += fmt(buf + n, size - n, " ");
	gw_show_addresses(iface, buf + n, size - n);
	return SHELL_LINE;
}

/* A listing of gw.h. */
static enum shell_step gw_list(struct shell_list *l, char *buf, size_t size,
                               bool (*show)(struct gw *, uint32_t *, char *, size_t))
{
	uint32_t i = (uint32_t)l->cursor;
	bool more = show(l->gw, &i, buf, size);
	l->cursor = i;
	return more ? SHELL_LINE : SHELL_END;
}

enum shell_step shell_list_addresses(struct shell_list *l, char *buf, size_t size)
{
	return gw_list(l, buf, size, autoconf_show);
}

enum shell_step shell_list_leases(struct shell_list *l, char *buf, size_t size)
{
	return gw_list(l, buf, size, dhcp6_show_leases);
}

enum shell_step shell_list_time(struct shell_list *l, char *buf, size_t size)
{
	return gw_list(l, buf, size, sntp_show);
}

enum shell_step shell_list_receivers(struct shell_list *l, char *buf, size_t size)
{
	return gw_list(l, buf, size, export_show);
}

/* Writes what is wrong, if anything is. */
static enum shell_step outcome(struct shell_list *l, char *buf, size_t size,
                               const char *(*act)(struct gw *gw))
{
	const char *wrong = l->cursor++ == 0 ? act(l->gw) : NULL;
	if (!wrong)
		return SHELL_END;
	fmt(buf, size, "%s", wrong);
	return SHELL_LINE;
}

enum shell_step shell_list_release(struct shell_list *l, char *buf, size_t size)
{
	return outcome(l, buf, size, dhcp6_release_all);
}

enum shell_step shell_list_renew(struct shell_list *l, char *buf, size_t size)
{
	return outcome(l, buf, size, dhcp6_renew_all);
}

enum shell_step shell_list_neighbours(struct shell_list *l, char *buf, size_t size)
{
	return gw_list(l, buf, size, gw_show_neighbours);
}

enum shell_step shell_list_routes(struct shell_list *l, char *buf, size_t size)
{
	return gw_list(l, buf, size, gw_show_routes);
}

enum shell_step shell_list_drops(struct shell_list *l, char *buf, size_t size)
{
	return gw_list(l, buf, size, gw_show_drops);
}

enum shell_step shell_list_drops_raw(struct shell_list *l, char *buf, size_t size)
{
	return gw_list(l, buf, size, gw_show_drops_raw);
}

enum shell_step shell_list_capture(struct shell_list *l, char *buf, size_t size)
{
	uint32_t cursor = (uint32_t)l->cursor;
	bool more = capture_show(l->gw, l->argument, &cursor, buf, size);
	l->cursor = cursor;
	return more ? SHELL_LINE : SHELL_END;
}

/* --- forwarder and services ------------------------------------------------------------ */

enum shell_step shell_list_sessions(struct shell_list *l, char *buf, size_t size)
{
	struct addr a;
	if (l->argument[0] && !l->address[0]) {
		if (!addr_any(l->argument, strlen(l->argument), &a)) {
			if (l->cursor++)
				return SHELL_END;
			fmt(buf, size, "not an address: %s", l->argument);
			return SHELL_LINE;
		}
		addr_text(l->address, &a);
	}
	enum shell_step step = gw_list(l, buf, size, gw_show_sessions);
	if (l->address[0] && !lines_have_address(buf, l->address))
		buf[0] = '\0';
	return step;
}

/* The cursor's upper half is not 0 once all sessions are counted. */
enum shell_step shell_list_sessions_count(struct shell_list *l, char *buf, size_t size)
{
	if (l->cursor >> 32 == 0) {
		if (gw_list(l, buf, size, gw_show_sessions) == SHELL_END)
			l->cursor = 1ull << 32;
		else if (buf[0])
			lines_count(&l->count, buf);
		buf[0] = '\0';
		return SHELL_LINE;
	}
	return lines_count_show(&l->count, (uint32_t)l->cursor++, buf, size) ? SHELL_LINE
	                                                                     : SHELL_END;
}

enum shell_step shell_list_timings(struct shell_list *l, char *buf, size_t size)
{
	return gw_list(l, buf, size, gw_show_timings);
}

/* --- ping and traceroute ---------------------------------------------------------------- */

static enum shell_step probe_list(struct shell_list *l, char *buf, size_t size,
                                  enum probe_kind kind)
{
	static const enum shell_step step[] = {
	        [PROBE_END] = SHELL_END,
	        [PROBE_LINE] = SHELL_LINE,
	        [PROBE_WAIT] = SHELL_WAIT,
	};
	struct addr to;
	if (l->cursor++)
		return step[probe_line(l->gw, buf, size)];
	if (!addr_any(l->argument, strlen(l->argument), &to)) {
		fmt(buf, size, "expected an address, such as 192.0.2.1 or 2001:db8::1");
		return SHELL_LINE;
	}
	const char *wrong = probe_start(l->gw, kind, &to);
	if (wrong)
		fmt(buf, size, "%s", wrong);
	return SHELL_LINE;
}

enum shell_step shell_list_ping(struct shell_list *l, char *buf, size_t size)
{
	return probe_list(l, buf, size, PROBE_PING);
}

enum shell_step shell_list_traceroute(struct shell_list *l, char *buf, size_t size)
{
	return probe_list(l, buf, size, PROBE_TRACE);
}

/* --- the machine ------------------------------------------------------------------------ */

static enum shell_step config_list(struct shell_list *l, char *buf, size_t size,
                                   bool (*line)(const struct config *, uint32_t *, char *, size_t))
{
	uint32_t i = (uint32_t)l->cursor;
	bool more = line(l->gw->config, &i, buf, size);
	l->cursor = i;
	return more ? SHELL_LINE : SHELL_END;
}

enum shell_step shell_list_config(struct shell_list *l, char *buf, size_t size)
{
	return config_list(l, buf, size, config_line);
}

enum shell_step shell_list_config_changed(struct shell_list *l, char *buf, size_t size)
{
	return config_list(l, buf, size, config_line_changed);
}

enum shell_step shell_list_help(struct shell_list *l, char *buf, size_t size)
{
	uint32_t i = (uint32_t)l->cursor;
	bool more = config_help(l->gw->config, l->argument, &i, buf, size);
	l->cursor = 1ull << 32 | i;
	return more ? SHELL_LINE : SHELL_END;
}

enum shell_step shell_list_usb(struct shell_list *l, char *buf, size_t size)
{
	return usb_show(&l->cursor, buf, size) ? SHELL_LINE : SHELL_END;
}

enum shell_step shell_list_log(struct shell_list *l, char *buf, size_t size)
{
	return log_next(&l->cursor, buf, size) ? SHELL_LINE : SHELL_END;
}

enum shell_step shell_list_random(struct shell_list *l, char *buf, size_t size)
{
	if (l->cursor++)
		return SHELL_END;
	fmt(buf, size, "%08x%08x", rng_u32(l->gw->rng), rng_u32(l->gw->rng));
	return SHELL_LINE;
}

/* --- changes -------------------------------------------------------------------------------- */

/* Carries out the change `what` and its words, and says how it went. */
static enum shell_step change(struct shell_list *l, const char *what, char *buf, size_t size)
{
	if (l->cursor++)
		return SHELL_END;
	fmt(buf, size, "%s %s", what, l->argument);
	const char *wrong = gw_change_text(l->gw, buf);
	fmt(buf, size, "%s", wrong ? wrong : "done");
	return SHELL_LINE;
}

enum shell_step shell_list_address(struct shell_list *l, char *buf, size_t size)
{
	return change(l, "address", buf, size);
}

enum shell_step shell_list_route(struct shell_list *l, char *buf, size_t size)
{
	return change(l, "route", buf, size);
}
