/* Starts the parts of the machine in order, lets the configuration or the menu choose the
 * application, and then runs the two tasks for ever. RCV moves packets (rcv.c). MAIN
 * (main_run) does everything else, and it runs at least once a millisecond under any load.
 * When neither task has work, the processor halts until an interrupt, or until a part of MAIN has
 * said that it is due (next_due). */
#include "kernel/main.h"

#include "apps/apps.h"
#include "drivers/block/media.h"
#include "drivers/usb/usb.h"
#include "kernel/lib/alloc.h"
#include "kernel/x86/boot.h"
#include "kernel/config/config_pause.h"
#include "kernel/x86/clock.h"
#include "kernel/console/console.h"
#include "kernel/x86/cpu.h"
#include "kernel/x86/cpuid.h"
#include "kernel/edit.h"
#include "kernel/edit_view.h"
#include "kernel/x86/entropy.h"
#include "kernel/lib/fmt.h"
#include "kernel/seam/io.h"
#include "kernel/lib/log.h"
#include "kernel/machine.h"
#include "kernel/x86/mem.h"
#include "kernel/menu.h"
#include "kernel/rcv.h"
#include "kernel/saver.h"
#include "kernel/settings.h"
#include "kernel/shell.h"
#include "kernel/texts.h"
#include "kernel/usb_input.h"
#include "kernel/views.h"
#include "net/dhcp/dhcp_client.h"

#define POOL_PACKETS 4096u
#define POOL_SPARE   1024u  /* packets beside those in the receive rings */
#define MAIN_US      1000u  /* how often MAIN runs under load */
#define POLL_US      10000u /* shortest time between two runs of the parts that poll */
/* The same where nothing moves. Less than the half second of gw->rest_us, at which all parts then
 * have their turn. */
#define REST_US      490000u
#define TLB_US       100000u
#define IDLE_US      100000u /* the longest halt, where something moves */
#define TICKS_MOST   12u     /* in one halt */
#define SECOND_US    1000000u
#define SEED_SECONDS 16u /* a seed costs as much as a tenth of what an idle second does */
#define MENU_ITEMS   16u
#define PAUSE_BURSTS 32u /* at most, in a pause of MAIN */

static struct texts texts;
static struct config config;
static struct rng rng;
static struct pool pool;
static struct nic *nics[NIC_MAX];
static uint32_t n_nics;
static struct gw *gw;
static char problem[160];

/* --- start ------------------------------------------------------------------------- */

static void console_log(const char *line, size_t len)
{
	console_write(line, len);
	console_write("\n", 1);
}

static void seed(void)
{
	uint8_t bytes[32];
	rng_seed(&rng, bytes, entropy_gather(bytes, sizeof bytes));
	for (uint32_t i = 0; i < n_nics; i++)
		rng_seed(&rng, &nics[i]->address, sizeof nics[i]->address);
}

/* Reads the boot command line and all modules into the configuration. */
static void read_config(const struct boot_info *boot)
{
	static const char *names[MENU_ITEMS];
	for (uint32_t i = 0; i < n_apps; i++)
		names[i] = apps[i].name;
	texts_init(&texts, boot->cmdline, names, n_apps);
	texts.overflow = boot->overflow;
	for (uint32_t i = 0; i < boot->n_modules; i++)
		texts_add(&texts, boot->module[i].name,
		          (struct slice){boot->module[i].text, boot->module[i].len});
	texts_complete(&texts, &config);
	texts_read(&texts, &config, texts.conf);
	if (config.n_errors)
		texts_fall_back(&texts, &config, NULL);
}

/* Says by what the boot medium can be recognised. */
static void find_medium(const struct boot_info *boot)
{
	const struct boot_module *conf = NULL;
	for (uint32_t i = 0; i < boot->n_modules; i++) {
		const struct boot_module *at = &boot->module[i];
		bool seen = strcmp(at->name, TEXTS_SEEN) == 0;
		if (seen || (!conf && strcmp(at->name, "gateway.conf") == 0))
			conf = at;
	}
	media_init(settings_run(&config)->stick, conf ? conf->text : NULL, conf ? conf->len : 0);
}

/* Makes the packet pool. Its size is a quarter of the memory, or what the cards need if that is
 * more, up to half of the memory. Its packets are large if a card wants that and a quarter of the
 * memory holds what the cards need. */
static bool make_pool(void)
{
	bool large;
	uint32_t needed = nic_count(NIC_MAX, &large) * NIC_RING + POOL_SPARE;
	uint32_t half = (uint32_t)(alloc_left() / 2), room = PKT_ROOM;
	if (large && half / 2 / pkt_slot(PKT_ROOM_LARGE) >= needed)
		room = PKT_ROOM_LARGE;
	uint32_t most = half / pkt_slot(room);
	uint32_t n = max_u32(most / 2, min_u32(most, needed));
	return pkt_pool_init(&pool, min_u32(POOL_PACKETS, n), room);
}

/* Makes the packet pool and finds the cards. */
static void find_nics(void)
{
	if (make_pool())
		n_nics = nic_probe_all(&pool, nics, NIC_MAX);
	else
		log_line("not enough memory for packets");
	if (n_nics == 0)
		log_line("no network card found");
}

/* Gives the card that the key of an interface names, or NULL with the place and the reason in
 * `problem`. */
static struct nic *nic_for(const char *key, const struct net_config_card *want)
{
	char text[FMT_MAC];
	const char *where = config_where(&config, key);
	if (!want->by_mac && want->index < n_nics)
		return nics[want->index];
	for (uint32_t i = 0; want->by_mac && i < n_nics; i++)
		if (mac_eq(&nics[i]->address, &want->address))
			return nics[i];
	if (want->by_mac)
		fmt(problem, sizeof problem, "%s: %s: no network card has the address %s", where,
		    key, fmt_mac(text, &want->address));
	else if (n_nics < 2)
		fmt(problem, sizeof problem, "%s: %s: there is no nic%u; %s was found", where, key,
		    want->index, n_nics ? "only one network card" : "no network card");
	else
		fmt(problem, sizeof problem,
		    "%s: %s: there is no nic%u; only %u network cards were found", where, key,
		    want->index, n_nics);
	return NULL;
}

/* Stops the cards that no interface uses. They would fill their rings and hold their
 * interrupt lines. */
static void stop_others(struct nic *const *used, uint32_t n)
{
	for (uint32_t i = 0; i < n_nics; i++) {
		uint32_t k = 0;
		while (k < n && used[k] != nics[i])
			k++;
		if (k == n)
			nics[i]->ops->stop(nics[i]);
	}
}

/* Finds the cards of all interfaces; false with the reason in `problem`. An application that works
 * without a WAN may have none. */
static bool find_cards(uint32_t app, struct nic **card, uint32_t n)
{
	const struct net_config_interface *want = net_config(&config)->iface;
	bool alone = apps[app].forwarder->lan_alone && want[IF_WAN].n_address == 0;
	for (uint32_t i = 0; i < n; i++) {
		const char *name = net_interface_name[i];
		card[i] = nic_for(name, &want[i].card);
		if (!card[i] && !(i == IF_WAN && alone))
			return false;
		for (uint32_t k = 0; card[i] && k < i; k++)
			if (card[k] == card[i] && want[k].card.vlan == want[i].card.vlan) {
				const char *other = net_interface_name[k];
				fmt(problem, sizeof problem, "%s: %s and %s name the same %s",
				    config_where_later(&config, other, name), other, name,
				    want[i].card.vlan ? "VLAN" : "NIC");
				return false;
			}
	}
	return true;
}

/* The first interface that has the card of interface i. */
static uint8_t first_with_card(struct nic *const *card, uint32_t i)
{
	uint8_t k = 0;
	while (k < i && (!card[i] || card[k] != card[i]))
		k++;
	return k;
}

/* True when the LAN and the WAN are to share a card. */
static bool one_is_enough(void)
{
	const struct net_config_interface *want = net_config(&config)->iface;
	return net_same_card(&want[IF_LAN].card, &want[IF_WAN].card) && n_nics > 0;
}

static uint32_t cycles(void)
{
	return (uint32_t)io_cycles();
}

/* Sets up the gateway for an application. False with the reason in `problem`. */
static bool start(uint32_t app)
{
	struct nic *card[INTERFACES];
	uint32_t n = net_interfaces(&config);
	if (!find_cards(app, card, n))
		return false;
	if (!gw && !(gw = alloc(sizeof *gw, 64))) {
		fmt(problem, sizeof problem, "not enough memory");
		return false;
	}
	memset(gw, 0, sizeof *gw);
	gw->clock.us = clock_now_us();
	gw->pool = &pool;
	gw->rng = &rng;
	gw->config = &config;
	gw->cycles = cycles;
	for (uint32_t i = 0; i < n; i++) {
		gw->iface[i].present = card[i] != NULL;
		gw->iface[i].card = first_with_card(card, i);
		if (card[i])
			gw->iface[i].address = card[i]->address;
	}
	alloc_mark();
	settings_choose(&config, apps[app].name, apps[app].forwarder, gw);
	const char *wrong = gw_init(gw);
	if (wrong) {
		alloc_release();
		fmt(problem, sizeof problem, "%s: %s", config_where(&config, wrong), wrong);
		return false;
	}
	rcv_init(gw, card);
	stop_others(card, n);
	settings_set_app(&config, apps[app].name);
	settings_log_ignored(&config, gw, apps[app].name);
	return true;
}

/* Gives the index of the application that the key `app` names; n_apps when it names none. */
static uint32_t configured_app(void)
{
	uint32_t i = 0;
	while (i < n_apps && strcmp(apps[i].name, settings_name(&config)->app) != 0)
		i++;
	return i;
}

/* Values that parts beside the gateway keep for themselves. */
static void take_values(void)
{
	const struct settings_run *run = settings_run(&config);
	console_layout(run->keyboard);
	clock_watchdog(run->watchdog_ms);
}

/* Takes gateway.last after a start that nobody watched has failed. */
static bool fall_back(void)
{
	if (menu_was_attended() || !texts_fall_back(&texts, &config, problem))
		return false;
	edit_begin();
	return true;
}

static void choose_and_start(void)
{
	struct menu_item item[MENU_ITEMS];
	bool fell_back;
	_Static_assert(MENU_ITEMS >= 9, "room for the number keys");
	for (uint32_t i = 0; i < n_apps; i++)
		item[i] = (struct menu_item){apps[i].name, apps[i].about};
	if (n_nics < 2 && !one_is_enough())
		fmt(problem, sizeof problem, "%s: two are needed",
		    n_nics ? "only one network card was found" : "no network card was found");
	uint32_t app = configured_app();
	if (config.n_errors || app == n_apps)
		app = menu_run(&config, item, n_apps, nics, n_nics, problem[0] ? problem : NULL,
		               problem[0]);
	while (!start(app)) {
		log_time(clock_now_us());
		fell_back = fall_back();
		if (fell_back && (app = configured_app()) < n_apps)
			continue;
		if (!fell_back)
			log_line("%s", problem);
		app = menu_run(&config, item, n_apps, nics, n_nics, problem, !fell_back);
	}
	menu_started();
}

/* --- MAIN --------------------------------------------------------------------------- */

static uint64_t polled, usb_at, people_at, log_seen, tlb_at, second_at;
static uint64_t idle_us, second_idle_us;
static uint32_t busy_permille;
static bool rests;      /* MAIN had nothing to do when it ran last */
static bool said_ready; /* the last line of `ready` and `stopped` */

static uint32_t cpu_busy(void)
{
	return busy_permille;
}

static void log_nmis(void)
{
	static uint32_t seen;
	static uint64_t said;
	if (cpu_nmis() == seen)
		return;
	seen = cpu_nmis();
	log_limited(&said, 60000, "non-maskable interrupt without a reason, %u since the start",
	            seen);
}

/* Says once that there is no keyboard. One that is there has been found long before. */
static void look_for_keyboard(uint64_t now)
{
	static bool looked;
	if (looked || now < 5 * SECOND_US)
		return;
	looked = true;
	if (!usb_input_has_keyboard())
		log_line("no keyboard found: neither PS/2 nor USB");
}

/* Once a second: computes the load, and now and then adds the time-stamp counter to the random
 * generator's seed. */
static void every_second(uint64_t now)
{
	static uint32_t seconds;
	uint64_t passed_ms = (now - second_at + SECOND_US) / 1000; /* at least a second */
	uint64_t idle = (idle_us - second_idle_us) / passed_ms;
	busy_permille = idle < 1000 ? 1000 - (uint32_t)idle : 0;
	second_idle_us = idle_us;
	second_at = now + SECOND_US;
	clock_expect_ticks();
	log_nmis();
	if (seconds++ % SEED_SECONDS == 0) {
		uint64_t jitter = io_cycles();
		rng_seed(&rng, &jitter, sizeof jitter);
	}
}

/* Polls USB, and goes on with saving on a stick. True when keys may have come, or an answer is
 * awaited: then there is no halt, because the next interrupt may be that of the tick. */
static bool run_usb(uint64_t now)
{
	bool did = false;
	if (now >= usb_at) {
		did = usb_input_poll(now);
		did |= media_poll(now); /* before usb_busy: it submits what follows */
		usb_at = now + (usb_busy() ? MAIN_US : POLL_US);
	}
	return did || usb_busy();
}

/* True while an answer is printed, or something is saved. */
static bool people_wait(void)
{
	return shell_answers() || saver_busy();
}

/* Serves people: screens, the editor, the console's commands, saving. It is due again at once when
 * it had work, and soon while people wait; keys and lines of the log do not wait for that. */
static bool run_people(uint64_t now)
{
	bool did = views_run(now);
	did |= edit_view_run(now);
	did |= shell_run();
	people_at = now + (did ? 0 : people_wait() ? POLL_US : REST_US);
	log_seen = log_end();
	return did;
}

static void ready_line(char *buf, size_t size)
{
	fmt(buf, size, "ready app=%s ms=%u", settings_name(&config)->app,
	    (uint32_t)(clock_now_us() / 1000));
}

/* What is missing: the lease of the WAN, or something that the forwarder needs; one word. NULL when
 * nothing is. */
static const char *missing(void)
{
	if (UNLIKELY(!dhcp_is_ready(gw)))
		return gw->dhcp.lost;
	return gw->forwarder->stopped ? gw->forwarder->stopped(gw) : NULL;
}

/* Says when everything is there for the first time or again, and when something is lost. */
static bool follow_ready(void)
{
	char line[80];
	const char *why = missing();
	if (LIKELY(!why == said_ready))
		return false;
	if (!said_ready)
		ready_line(line, sizeof line);
	else
		fmt(line, sizeof line, "stopped app=%s reason=%s", settings_name(&config)->app,
		    why);
	if (!shell_say(line))
		return false; /* between two answers */
	said_ready = !said_ready;
	return true;
}

/* When MAIN must run although nothing has come: the earliest time that one of its parts asks for,
 * and ten times a second at least, so that all parts have their turn; twice a second where nothing
 * moves. */
static uint64_t next_due(uint64_t now)
{
	uint64_t at = now + IDLE_US, console = console_due_us();
	bool resting = rests && rcv_rests();
	if (resting)
		at = gw->rest_us;
	else if (gw->wake_us < at)
		at = gw->wake_us;
	at = console < at ? console : at;
	if (usb_moves() && usb_at < at)
		at = usb_at;
	if (rcv_needs_ticks() && polled + POLL_US < at)
		at = polled + POLL_US;
	if (people_at < at &&
	    (!resting || people_wait())) /* else they have their turn with the rest */
		at = people_at;
	return at;
}

/* RCV runs inside of MAIN while MAIN reads a long text of the configuration, until no card has
 * frames, at most as long as the next pause is away. What MAIN does then touches the draft alone.
 */
static void pass_packets(void)
{
	bool was = log_mute(false);
	clock_alive();
	gw->clock.us = clock_now_us();
	for (uint32_t i = 0; i < PAUSE_BURSTS && rcv_run(); i++)
		;
	log_mute(was);
}

/* The MAIN task. True when there was something to do. */
static bool main_run(uint64_t now)
{
	bool did = gw_tick(gw);
	if (now - polled >= POLL_US && (now - polled >= REST_US || !rcv_rests())) {
		polled = now;
		did |= rcv_poll(now); /* a carrier that came has timers */
	}
	did |= run_usb(now);
	if (now >= tlb_at) {
		tlb_at = now + TLB_US;
		mem_flush_tlb();
	}
	if (now >= second_at) {
		every_second(now);
		look_for_keyboard(now);
	}
	did |= console_poll();
	did |= follow_ready();
	if (did || now >= people_at || log_end() != log_seen)
		did |= run_people(now);
	did |= rcv_flush();
	rests = !did;
	return did;
}

/* --- the loop ------------------------------------------------------------------------ */

/* Halts until an interrupt of a device, or until `due`. A tick may come earlier (clock.h): then it
 * halts again. The number of ticks is limited, because the clock may stand still meanwhile. With
 * interrupts off; returns with interrupts on. */
static void halt(uint64_t now, uint64_t due)
{
	uint32_t lines = cpu_irq_lines();
	for (uint32_t i = 0; i < TICKS_MOST; i++) {
		clock_wake_at(now, due);
		cpu_halt();
		cpu_irq_off();
		clock_alive();
		now = clock_now_us();
		if (now >= due || cpu_irq_lines() != lines)
			break;
	}
	cpu_irq_on();
}

/* Halts unless a card or the console has work. True when the console has work, which needs
 * MAIN. */
static bool idle(uint64_t now)
{
	cpu_irq_off();
	bool frames = rcv_arm(), keys = console_arm();
	if (frames || keys || !clock_may_halt())
		cpu_irq_on();
	else
		halt(now, next_due(now));
	if (!keys && (!frames || rcv_polls())) /* a card that is polled has no work here */
		idle_us += clock_now_us() - now;
	return keys;
}

static void run(void) __attribute__((noreturn));
static void run(void)
{
	uint64_t main_at = 0;
	for (;;) {
		uint64_t now = clock_now_us();
		clock_alive();
		clock_check();
		gw->clock.us = now;
		bool busy = rcv_run();
		if (now >= main_at) {
			log_time(now);
			busy |= main_run(now);
			main_at = now + MAIN_US;
		}
		if (!busy && idle(now))
			main_at = people_at = 0;
	}
}

void main_start(uint32_t magic, uint32_t mbi)
{
	const struct boot_info *boot = boot_init(magic, mbi);
	char line[80];
	cpu_init();
	clock_init();
	console_init();
	log_sink(console_log);
	log_time(clock_now_us());
	log_line("Baregate on %s, %u MB free", cpuid_features()->name,
	         (uint32_t)(alloc_left() >> 20));
	clock_report();
	read_config(boot);
	if (settings_run(&config)->usb)
		usb_init(); /* in front of the 8042, which the firmware may emulate */
	find_medium(boot);
	console_find_keyboard();
	take_values();
	log_time(clock_now_us());
	find_nics();
	seed();
	log_time(clock_now_us());
	edit_init(&texts, &config, take_values);
	size_t free = alloc_left();
	choose_and_start();
	log_time(clock_now_us());
	log_line("%s starts; its tables use %u KB", settings_name(&config)->hostname,
	         (uint32_t)((free - alloc_left()) >> 10));
	log_sink(NULL); /* from here on the shell prints the log between its answers */
	if (!missing()) {
		ready_line(line, sizeof line);
		console_print("%s\n", line);
		said_ready = true;
	}
	machine_init(gw, cpu_busy);
	views_init(gw, shell_resume);
	edit_view_init(gw, shell_resume);
	shell_init(gw);
	config_pause_by(pass_packets);
	run();
}
