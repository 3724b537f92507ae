"""The page in a browser: first paint, search as one types, the map of many nodes.

python benchmarks/window.py [--nodes 10000 100000]

Chromium draws with the processor (SwiftShader); a graphics card is faster. Times in milliseconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.browser import chromium
from support.report_cases import large

from raptor_core.report.layout import lay_out
from raptor_core.report.page import render_report
from raptor_core.report.values import Report

PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
READY = "performance.now()"
SEARCH = """() => new Promise(done => {
  const begun = performance.now();
  new MutationObserver(() => done(performance.now() - begun))
    .observe(document.querySelector('#results'), { childList: true });
  const input = document.querySelector('#query');
  input.value = 'river castle';
  input.dispatchEvent(new Event('input'));
})"""
FRAMES = """() => new Promise(done => {
  const plane = document.querySelector('.plane'), times = [];
  let last = performance.now();
  const step = now => {
    times.push(now - last); last = now;
    if (times.length > 60) return done(times.slice(1).sort((a, b) => a - b)[30]);
    plane.querySelector('.points').dispatchEvent(new WheelEvent('wheel',
      { deltaY: times.length % 2 ? -60 : 60, clientX: 500, clientY: 400, cancelable: true }));
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def report_of(n_nodes: int) -> tuple[Report, float]:
    """A tree of about so many nodes, and the CPU seconds that laying it out took."""
    report = large(int(n_nodes * 0.857))
    rng = np.random.default_rng(0)
    vectors, nodes = {}, report.trees[0].nodes
    for node in nodes:
        row = rng.normal(size=384) + 3 * np.sin(np.arange(384) * (1 + node.position // 60_000))
        vectors[node.embedding_key] = (row / np.linalg.norm(row)).astype(np.float32)
    begun = time.process_time()
    points = lay_out(nodes, vectors)
    return Report("large", report.trees, points=points), time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 100_000])
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        print("nodes  MB  layout CPU s  first paint  ready  search  map opened  frame of a zoom")
        for n_nodes in parser.parse_args().nodes:
            report, laid_out = report_of(n_nodes)
            path = Path(folder) / "page.html"
            path.write_text(render_report(report), encoding="utf-8")
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(120_000)
            page.goto(path.as_uri())
            page.locator("main .top-texts").wait_for()
            ready = page.evaluate(READY)
            page.wait_for_function("() => performance.getEntriesByType('paint').length > 1")
            paint = page.evaluate(PAINT)
            search = page.evaluate(SEARCH)
            begun = page.evaluate(READY)
            page.evaluate("location.hash = '#map'")
            page.locator(".plane[data-frames]").wait_for()
            opened = page.evaluate(READY) - begun
            frame = page.evaluate(FRAMES)
            told = (paint, ready, search, opened, frame)
            size = path.stat().st_size / 1e6
            print(len(report.trees[0].nodes), f"{size:.1f}", f"{laid_out:.1f}", *map(round, told))
            page.close()


if __name__ == "__main__":
    main()
