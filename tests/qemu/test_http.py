# SPDX-License-Identifier: BSD-2-Clause
"""`serve http` of the image: curl as its client, promtool as the judge of its metrics."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.browser import Browser
from labkit.lab import Lab
from labkit.wait import until

OWN = net.LAN_GATEWAY
CONFIG = net.NAT + "serve http\nhttp.capture on\n"


def curl(lab: Lab, path: str, *more: str) -> str:
    return lab.lan.run("curl", "--silent", "--show-error", "--max-time", "20", *more, f"http://{OWN}{path}").stdout


@pytest.fixture
def lab(nic: str, make_lab: Callable[..., Lab]) -> Lab:
    made = make_lab((nic, nic))
    made.boot(CONFIG)
    return made


@pytest.mark.one_card
def test_curl(lab: Lab) -> None:
    free = lab.packets_free()
    assert curl(lab, "/livez", "--fail") == "alive\n"
    assert curl(lab, "/readyz", "--fail") == "ready\n"
    assert curl(lab, "/livez", "--fail", "--http1.0") == "alive\n"
    assert curl(lab, "/livez", "--output", "/dev/null", "--write-out", "%{http_code}", "--data", "x") == "405"
    assert curl(lab, "/livez", "--output", "/dev/null", "--write-out", "%{http_code}", "--header", "Host: x") == "421"
    assert lab.wan.run("sh", "-c", f"curl -s -m 3 http://{net.WAN_GATEWAY}/livez || echo none").stdout == "none\n"
    metrics = curl(lab, "/metrics", "--fail")
    stats = lab.console.stats()
    names = {re.sub(r"_total(?=[{ ])", "", line.rsplit(" ", 1)[0] + " ").strip().removeprefix("baregate_")
             for line in metrics.splitlines() if not line.startswith("#")}
    assert not set(stats) - names
    assert "baregate_cpu_busy_permille " in metrics and 'baregate_build_info{app="nat"' in metrics
    lab.lan.run("promtool", "check", "metrics", stdin=metrics.encode())
    lab.check_no_leak(free, 5)


@pytest.mark.one_card
def test_capture_for_wireshark(nic: str, make_lab: Callable[..., Lab], tmp_path: Path) -> None:
    """tshark reads what curl downloads: a ping on both sides of the NAT, and a drop with its reason."""
    lab = make_lab((nic, nic))
    lab.boot(CONFIG)
    free = lab.packets_free()
    lab.wait_ping()
    lab.lan.run("ping", "-n", "-c3", "-i0.05", "-w10", "-s1400", net.FAR_SERVER)

    with lab.wan.socket() as stranger:
        stranger.sendto(b"x", (net.WAN_GATEWAY, 9999))

    def tshark(query: str, *fields: str) -> list[list[str]]:
        path = tmp_path / "gateway.pcapng"
        curl(lab, f"/capture.pcapng{query}", "--fail", "--output", str(path))
        asked = [word for name in fields for word in ("-e", name)]
        said = lab.lan.run("tshark", "-n", "-r", str(path), "-Tfields", *asked).stdout
        return [line.split("\t") for line in said.splitlines()]

    long_pings = [line[:4] for line in tshark("", "frame.interface_name", "ip.src", "ip.dst", "icmp.type", "frame.len")
                  if line[4] == "1442"]
    assert long_pings[:4] == [["lan", net.LAN_HOST, net.FAR_SERVER, "8"], ["wan", net.WAN_GATEWAY, net.FAR_SERVER, "8"],
                              ["wan", net.FAR_SERVER, net.WAN_GATEWAY, "0"], ["lan", net.FAR_SERVER, net.LAN_HOST, "0"]]
    assert len(long_pings) >= 12
    dropped = tshark("?of=drops", "udp.dstport", "frame.comment")
    assert ["9999", "no-mapping"] in [[port, said.removeprefix("dropped, ").split(":")[0]] for port, said in dropped]
    assert lab.console.command("capture drops").startswith("keeping drops: 0 packets, ")
    lab.check_no_leak(free, 5)


# --- in a browser -----------------------------------------------------------------------------

PAGES = ["/", "/sessions", "/leases", "/config", "/capture", "/help"]
# Elements whose text or edge is outside of the window; text whose contrast is less than WCAG 2 wants (4.5).
OUTSIDE = "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && " \
          "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
CONTRAST = """(() => {
  const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
                         .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
                       return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const ground = e => { for (; e; e = e.parentElement) {
                          const c = getComputedStyle(e).backgroundColor;
                          if (!c.endsWith(', 0)')) return c; } return 'rgb(255, 255, 255)'; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || e.closest('meter, script')) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(e.outerHTML.slice(0, 80));
  }
  return bad; })()"""
# What a person without a screen needs: names of fields, buttons and links, one h1, no level of headings left out.
ACCESS = """(() => {
  const bad = [];
  if (!document.documentElement.lang || !document.title) bad.push('language or title');
  for (const name of ['h1', 'main']) if (document.querySelectorAll(name).length !== 1) bad.push(name);
  let level = 0;
  for (const h of document.querySelectorAll('h1, h2, h3')) {
    if (+h.tagName[1] > level + 1) bad.push(h.outerHTML);
    level = +h.tagName[1];
  }
  for (const e of document.querySelectorAll('input')) if (!e.labels.length) bad.push(e.outerHTML);
  for (const e of document.querySelectorAll('a, button')) if (!e.textContent.trim()) bad.push(e.outerHTML);
  for (const e of document.querySelectorAll('[aria-labelledby]'))
    if (!document.getElementById(e.getAttribute('aria-labelledby'))) bad.push(e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll('nav a'))
    if (innerWidth < 600 && e.getBoundingClientRect().height < 24) bad.push(e.outerHTML);
  return bad; })()"""
# What axe-core says about a page: the rules that are broken, and where.
AXE = (resources.files("axe_core_python") / "axe.min.js").read_text()
BROKEN = "axe.run(document, {resultTypes: ['violations']})" \
         ".then(r => r.violations.map(v => [v.id, ...v.nodes.map(n => n.html.slice(0, 120))]))"
# Declarations of the style sheet that the browser does not understand. It keeps no others, so they are read from the
# text; the descriptors of at-rules are none of this one's.
STYLES = """Promise.all([...document.querySelectorAll('link[rel=stylesheet]')]
                        .map(l => fetch(l.href).then(r => r.text())))
  .then(texts => { const bad = [];
    for (const text of [...texts, ...[...document.querySelectorAll('style')].map(s => s.textContent)])
      for (const body of text.replace(/\\/\\*[^]*?\\*\\//g, '').match(/\\{[^{}]*\\}/g))
        for (const one of body.slice(1, -1).split(';').filter(s => s.trim())) {
          const at = one.indexOf(':'), name = one.slice(0, at).trim(), value = one.slice(at + 1).trim();
          if (!CSS.supports(name, value.replace(/!important$/, ''))) bad.push(one);
        }
    return bad; })"""


@pytest.mark.one_card
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pages_in_a_browser(lab: Lab, dark: bool) -> None:
    """At three widths: nothing beside the window, enough contrast, names for everything, no error, nothing from
    elsewhere."""
    with Browser(lab.lan) as browser:
        for width in (360, 768, 1280):
            browser.size(width, dark=dark)
            for path in PAGES:
                browser.open(f"http://{OWN}{path}")
                assert browser.value(OUTSIDE) == [], (width, path)
                assert browser.value("document.documentElement.scrollWidth") <= width, path
                assert browser.value(CONTRAST) == [], (width, path)
                assert browser.value(ACCESS) == [], (width, path)
                browser.value(f"{AXE};0")
                assert browser.value(BROKEN) == [], (width, path)
                ground = browser.value("getComputedStyle(document.body).backgroundColor")
                assert (sum(int(one) for one in re.findall(r"\d+", ground)) < 300) == dark
        assert browser.errors == []
        assert browser.urls and all(url.startswith(f"http://{OWN}/") for url in browser.urls)


@pytest.mark.one_card
def test_the_page_is_live_and_works_without_script(lab: Lab) -> None:
    with Browser(lab.lan) as browser:
        browser.size(1280)
        browser.open(f"http://{OWN}/")
        uptime = "[...document.querySelectorAll('.facts li')].find(e => e.textContent.startsWith('Uptime')).textContent"
        before = browser.value(uptime)
        browser.wait(f"{uptime} !== {before!r}")
        browser.wait("document.getElementById('live').textContent.includes('renewed')")
        assert browser.errors == []
        browser.scripts(False)
        browser.open(f"http://{OWN}/")
        assert browser.value("document.getElementById('interfaces').textContent.includes('192.168.1.1/24')")
        assert browser.errors == []


@pytest.mark.one_card
def test_markup_is_valid(lab: Lab) -> None:
    for path in PAGES:
        done = lab.lan.run("tidy", "-quiet", "-errors", stdin=curl(lab, path).encode(), check=False)
        # It does not know an attribute of WAI-ARIA 1.1.
        wrong = [line for line in done.stderr.splitlines() if "aria-current" not in line]
        assert not wrong and done.returncode < 2, path
    with Browser(lab.lan) as browser:
        browser.open(f"http://{OWN}/")
        assert browser.value(STYLES) == []


@pytest.mark.one_card
def test_the_judges_find_what_is_wrong(lab: Lab) -> None:
    with Browser(lab.lan) as browser:
        browser.open(f"http://{OWN}/sessions")
        browser.value("document.body.insertAdjacentHTML('beforeend', '<img src=\"/icon.svg\"><style>"
                      "p { colour: red; top: 3pxx } @media print { p { top: 1px; margin: a } }</style>')")
        assert [one.strip() for one in browser.value(STYLES)] == ["colour: red", "top: 3pxx", "margin: a"]
        browser.value(f"{AXE};0")
        assert "image-alt" in [broken[0] for broken in browser.value(BROKEN)]


# --- Prometheus and the dashboard -------------------------------------------------------------

PROMETHEUS = "127.0.0.1:9099"
ONE_BOX = CONFIG + "serve dns\nnameserver 203.0.113.1\nlan.dhcp 192.168.1.100-192.168.1.199\n"


def query(lab: Lab, expression: str) -> list[dict[str, object]]:
    """What Prometheus answers to a query."""
    text = lab.lan.run("curl", "--silent", "--fail", "--get", "--data-urlencode", f"query={expression}",
                       f"http://{PROMETHEUS}/api/v1/query").stdout
    answer = json.loads(text)
    assert answer["status"] == "success", answer
    result: list[dict[str, object]] = answer["data"]["result"]
    return result


@pytest.mark.one_card
def test_prometheus_and_the_dashboard(nic: str, make_lab: Callable[..., Lab], tmp_path: Path) -> None:
    """A real Prometheus scrapes each second; every query of contrib/grafana.json is one, and names metrics that there
    are, unless another application has them."""
    lab = make_lab((nic, nic))
    lab.boot(ONE_BOX)
    (tmp_path / "prometheus.yml").write_text(
        "scrape_configs:\n  - job_name: baregate\n    scrape_interval: 1s\n"
        f"    static_configs:\n      - targets: ['{OWN}:80']\n")
    lab.lan.ip("link set lo up")
    lab.lan.start("prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
                  f"--web.listen-address={PROMETHEUS}", "--log.level=error")

    def scraped() -> bool:
        asked = lab.lan.run("curl", "--silent", "--fail", "--get", "--data-urlencode",
                            "query=count_over_time(up{job=\"baregate\"}[1m])", f"http://{PROMETHEUS}/api/v1/query",
                            check=False).stdout
        found = json.loads(asked)["data"]["result"] if asked else []
        return bool(found) and int(found[0]["value"][1]) >= 8

    until(scraped, 60, "Prometheus has not scraped eight times")
    [up] = query(lab, "min_over_time(up[1m])")
    assert up["value"][1] == "1"  # type: ignore[index]
    [busy] = query(lab, "max_over_time(baregate_cpu_busy_permille[1m])")
    print("load in thousandths while it scrapes each second:", busy["value"][1])  # type: ignore[index]
    dashboard = json.loads((Path(__file__).parents[2] / "contrib/grafana.json").read_text())
    metrics = set(re.findall(r"^# TYPE (\S+)", curl(lab, "/metrics"), re.M))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$instance", f"{OWN}:80").replace("$__rate_interval", "20s")
            result = query(lab, expression)
            named = set(re.findall(r"baregate_\w+", expression))
            assert result or panel["title"].startswith("Drops") or not named <= metrics, expression
            assert named <= metrics or re.search(r"nat64|filter6", expression), expression
