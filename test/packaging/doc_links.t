#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# Every link of the documents leads to a file or to a heading, every document is
# reached by links from README.md, and the documents are short enough to be read.
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
# The pages that a newcomer reads, and all of docs/, have at most so many words.
FIRST = """architecture compatibility concepts fleet performance policies quickstart rollouts shell
transports troubleshooting""".split()
limits = [(17000, [f"docs/{name}.md" for name in FIRST]),
          (45000, sorted(p for p in pages if p.startswith("docs/")))]
words = [sum(len(open(p).read().split()) for p in group) for _, group in limits]
long = [f"{n:,} words, but at most {most:,} are allowed: {' '.join(group)}"
        for n, (most, group) in zip(words, limits) if n > most]
print("%sok 3 - the %d pages that a newcomer reads have %d words, and docs/ has %d" %
      ("not " if long else "", len(FIRST), *words))
for group in long:
    print("#", group)
print("1..3")
sys.exit(bool(bad or lost or long))
