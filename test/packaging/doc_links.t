#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# Every link of the documents leads to a file, and every document is reached by
# links from README.md.
import os
import re
import sys

top = os.environ["TOP"]
os.chdir(top)
bad, reached, worklist = [], set(), ["README.md"]
while worklist:
    page = os.path.normpath(worklist.pop())
    if page in reached:
        continue
    reached.add(page)
    if not page.endswith(".md"):
        continue
    text = re.sub(r"```.*?```", "", open(page).read(), flags=re.S)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    for link in links:
        if "://" in link or link.startswith("mailto:"):
            continue
        path = os.path.normpath(os.path.join(os.path.dirname(page), link))
        if os.path.isdir(path):
            worklist += [os.path.join(path, f) for f in os.listdir(path) if f.endswith(".md")]
        elif os.path.exists(path):
            worklist.append(path)
        else:
            bad.append(f"{page}: {link} leads nowhere")
print("%sok 1 - %d pages, every link leads to a file" % ("not " if bad else "", len(reached)))
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
