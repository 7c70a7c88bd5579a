#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# Every link of the documents leads to a file or to a heading, and every document
# is reached by links from README.md.
import os
import re
import sys

top = os.environ["TOP"]
os.chdir(top)
bad, reached, worklist = [], set(), ["README.md"]


def text_of(page):
    return re.sub(r"```.*?```", "", open(page).read(), flags=re.S)


def anchors(page):
    """The fragments of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


while worklist:
    page = os.path.normpath(worklist.pop())
    if page in reached:
        continue
    reached.add(page)
    if not page.endswith(".md"):
        continue
    for link, fragment in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text_of(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        path = os.path.normpath(os.path.join(os.path.dirname(page), link)) if link else page
        known = anchors(path) if path.endswith(".md") and os.path.exists(path) else {fragment}
        if fragment and fragment not in known:
            bad.append(f"{page}: {link}#{fragment}: no such heading")
        if os.path.isdir(path):
            worklist += [os.path.join(path, f) for f in os.listdir(path) if f.endswith(".md")]
        elif os.path.exists(path):
            worklist.append(path)
        else:
            bad.append(f"{page}: {link} leads nowhere")
verdict = "not ok" if bad else "ok"
print(f"{verdict} 1 - {len(reached)} pages, every link leads to a file or a heading")
for b in bad:
    print("#", b)
pages = {os.path.join("docs", f) for f in os.listdir("docs") if f.endswith(".md")}
pages |= {f for f in os.listdir(".") if f.endswith(".md")}
lost = sorted(pages - reached)
print("%sok 2 - links from README.md reach all %d documents" % ("not " if lost else "", len(pages)))
for p in lost:
    print("#", p, "is not linked")
print("1..2")
sys.exit(bool(bad or lost))
