/* See media.h. A save goes through these steps: every volume of every stick is looked at, until all
 * are known; the one that matches is opened once more, and the file is replaced. */
#include "drivers/block/media.h"

#include "drivers/block/fat.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

#define CONF     "gateway.conf"
#define STICK    64u
#define KNOWN    4u
#define START_US (10 * 1000 * 1000u) /* since the start: sticks may still be on their way */
#define WAIT_US  (3 * 1000 * 1000u)  /* since media_save: a stick may just be plugged in */
#define LONG_US  (40 * 1000 * 1000u) /* for sticks that the driver works on */
#define MOST_US  (60 * 1000 * 1000u) /* after which no further one is looked at */

enum step { S_WAIT, S_OPEN, S_COMPARE, S_REOPEN, S_REPLACE };

/* Why no stick was found, the least telling reason first. */
enum reason { NO_STICK, OTHER_STICK, OTHER_FAULT, NO_CONF, OTHER_CONF, FAULT };

static struct {
	bool usable; /* has its memory */
	char stick[STICK];
	bool has_serial;
	uint32_t serial;
	struct fat_text known[KNOWN]; /* what gateway.conf of the boot medium may have */
	uint32_t n_known;
	struct fat fat;

	enum media_save_state state;
	char message[200];
	const char *file, *text;
	uint32_t len;
	bool starting;
	uint64_t since_us;
	uint8_t step;

	/* The search. */
	struct block_device *device; /* that is looked at */
	uint32_t number, part;       /* its number; the place of the volume */
	enum reason reason;
	const char *fault;
	uint32_t matches;
	struct block_device *match;
	uint32_t match_number, match_part;
} m;

/* --- what is known -------------------------------------------------------------------------- */

/* Reads XXXX-XXXX, as GRUB's `probe --fs-uuid` writes the serial number of a FAT. */
static bool read_serial(const char *text, uint32_t *serial)
{
	uint32_t v = 0;
	if (strlen(text) != 9 || text[4] != '-')
		return false;
	for (uint32_t i = 0; i < 9; i++) {
		char c = (char)(text[i] | 0x20);
		if (i == 4)
			continue;
		if (text[i] >= '0' && text[i] <= '9')
			v = v << 4 | (uint32_t)(text[i] - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint32_t)(c - 'a' + 10);
		else
			return false;
	}
	*serial = v;
	return true;
}

bool media_init(const char *stick, const char *conf, size_t len)
{
	memset(&m, 0, sizeof m);
	fmt(m.stick, sizeof m.stick, "%s", stick);
	m.has_serial = read_serial(stick, &m.serial);
	if (conf && len <= MEDIA_TEXT)
		m.known[m.n_known++] = fat_text_of(conf, (uint32_t)len);
	m.usable = fat_init(&m.fat);
	return m.usable;
}

static bool is_known(struct fat_text t)
{
	for (uint32_t i = 0; i < m.n_known; i++)
		if (m.known[i].len == t.len && m.known[i].sum == t.sum)
			return true;
	return false;
}

/* gateway.conf of the boot medium has, or may have, the text that is being saved. */
static void learn(bool surely)
{
	if (strcmp(m.file, CONF) != 0)
		return;
	if (surely)
		m.n_known = 0;
	m.known[m.n_known < KNOWN ? m.n_known++ : KNOWN - 1] = fat_text_of(m.text, m.len);
}

/* --- begin and end --------------------------------------------------------------------------- */

static void ends_badly(const char *why)
{
	m.state = MEDIA_SAVE_FAILED;
	fmt(m.message, sizeof m.message, "%s", why);
	log_line("%s is not saved: %s", m.file, why);
}

static bool refuse(const char *file, const char *why)
{
	m.file = file;
	ends_badly(why);
	return false;
}

static void without_file(void)
{
	char why[100];
	fmt(why, sizeof why, "there is no %s on the stick; make an empty one on a PC", m.file);
	ends_badly(why);
	m.state = MEDIA_SAVE_NO_FILE;
}

bool media_save(const char *file, const char *text, size_t len)
{
	if (m.state == MEDIA_SAVE_BUSY)
		return false;
	if (!m.usable)
		return refuse(file, "there was not enough memory at the start");
	if (!m.stick[0])
		return refuse(file, "the boot loader did not say what was booted from (stick=...)");
	if (!m.has_serial)
		return refuse(file, "the gateway was not booted from a stick with FAT");
	if (!m.n_known)
		return refuse(file,
		              "no " CONF " was loaded by which the stick could be recognised");
	if (len > MEDIA_TEXT)
		return refuse(file, "the text is too long");
	m.file = file;
	m.text = text;
	m.len = (uint32_t)len;
	m.state = MEDIA_SAVE_BUSY;
	m.starting = true;
	m.number = m.matches = 0;
	m.reason = NO_STICK;
	m.step = S_WAIT;
	fmt(m.message, sizeof m.message, "%s is being saved", file);
	return true;
}

enum media_save_state media_save_state(const char **message)
{
	*message = m.message;
	return m.state;
}

/* --- the search ------------------------------------------------------------------------------ */

/* The device that appeared next after the one that was looked at last. */
static struct block_device *next_device(void)
{
	struct block_device *d;
	for (uint32_t i = 0; (d = block_at(i)) != NULL; i++)
		if (d->number > m.number)
			return d;
	return NULL;
}

static void because(enum reason reason, const char *fault)
{
	if (reason < m.reason)
		return;
	m.reason = reason;
	m.fault = fault;
}

static const char *reason_text(void)
{
	switch (m.reason) {
	case NO_STICK:
		return "no stick is plugged in";
	case OTHER_STICK:
		return "the stick that was booted from is not plugged in";
	case NO_CONF:
		return "there is no " CONF " on the stick";
	case OTHER_CONF:
		return CONF " on the stick is not the one that was loaded";
	default:
		return m.fault;
	}
}

/* Looks at the next volume of the device, or waits for the next device. */
static void next_part(void)
{
	m.step = S_WAIT;
	if (m.part + 1 == FAT_PARTS)
		return;
	m.part++;
	m.step = S_OPEN;
	fat_open(&m.fat, m.device, m.part);
}

static void open_match(void)
{
	m.step = S_REOPEN;
	fat_open(&m.fat, m.match, m.match_part);
	m.fat.number = m.match_number;
}

static bool wait(uint64_t now_us)
{
	uint64_t waited = now_us - m.since_us;
	return (block_expected() && waited < LONG_US) || now_us < START_US || waited < WAIT_US;
}

/* Looks at the next device. When all are known, the save goes on or ends. */
static bool look_on(uint64_t now_us)
{
	struct block_device *d = now_us - m.since_us < MOST_US ? next_device() : NULL;
	if (d) {
		m.device = d;
		m.number = d->number;
		m.part = 0;
		m.step = S_OPEN;
		because(OTHER_STICK, NULL);
		fat_open(&m.fat, d, 0);
		return true;
	}
	if (m.matches == 1 && !block_expected())
		open_match();
	else if (m.matches > 1)
		ends_badly("several sticks that are plugged in are alike; unplug all but one");
	else if (!wait(now_us) && m.matches)
		open_match();
	else if (!wait(now_us))
		ends_badly(reason_text());
	else
		return false;
	return true;
}

static void opened(void)
{
	if (m.fat.result == FAT_BAD)
		because(OTHER_FAULT, m.fat.wrong);
	if (m.fat.result != FAT_OK || !m.fat.volume.has_serial || m.fat.volume.serial != m.serial) {
		next_part();
		return;
	}
	m.step = S_COMPARE;
	fat_sum(&m.fat, CONF);
}

static void compared(void)
{
	if (m.fat.result == FAT_BAD) {
		because(FAULT, m.fat.wrong);
	} else if (m.fat.result == FAT_NONE) {
		because(NO_CONF, NULL);
	} else if (!is_known(m.fat.text)) {
		because(OTHER_CONF, NULL);
	} else {
		m.matches++;
		m.match = m.device;
		m.match_number = m.number;
		m.match_part = m.part;
	}
	next_part();
}

/* --- saving ---------------------------------------------------------------------------------- */

static void reopened(void)
{
	if (m.fat.result != FAT_OK) {
		ends_badly(m.fat.wrong ? m.fat.wrong : "the stick does not read the same twice");
		return;
	}
	if (m.fat.volume.dirty)
		log_line("%s: the file system was not unmounted cleanly; check it on a PC",
		         m.match->name);
	m.step = S_REPLACE;
	fat_replace(&m.fat, m.file, m.text, m.len);
}

static void replaced(void)
{
	static const char *const has[] = {"it has the old text", "it has the old or the new text",
	                                  "it has the new text"};
	char why[160];
	if (m.fat.result == FAT_OK) {
		learn(true);
		m.state = MEDIA_SAVE_DONE;
		fmt(m.message, sizeof m.message, "saved");
		log_line("%s is saved on %s", m.file, m.match->name);
		return;
	}
	if (m.fat.result == FAT_NONE) {
		without_file();
		return;
	}
	if (m.fat.fate != FAT_OLD)
		learn(m.fat.fate == FAT_REPLACED);
	fmt(why, sizeof why, "%s; %s", m.fat.wrong, has[m.fat.fate]);
	ends_badly(why);
}

bool media_poll(uint64_t now_us)
{
	if (m.state != MEDIA_SAVE_BUSY)
		return false;
	if (m.starting)
		m.since_us = now_us;
	m.starting = false;
	if (m.step == S_WAIT)
		return look_on(now_us);
	if (fat_poll(&m.fat) == FAT_BUSY)
		return false;
	if (m.step == S_OPEN)
		opened();
	else if (m.step == S_COMPARE)
		compared();
	else if (m.step == S_REOPEN)
		reopened();
	else
		replaced();
	return true;
}
