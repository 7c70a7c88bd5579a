# SPDX-License-Identifier: MIT
# A pod of the documents, as kubectl printed it in JSON.
#
#   fields RAW KNOWN         every field of the file is one that kubectl knows
#   mounts POD               every path of a variable or command is in a mounted volume or the image
#   script POD FOLDER NAME   print the container NAME as a shell script that runs in
#                            FOLDER: its variables, then its command
#
# Exit status 1, and what is wrong on stdout.
import json
import re
import shlex
import sys

# Younger than Debian's kubectl: a sidecar is an init container that restarts (1.29).
YOUNGER = re.compile(r"^spec\.initContainers\[\d+\]\.restartPolicy$")
IMAGE = ("/usr/", "/bin/")


def lost(raw, known, path):
    """Paths of the fields of @raw that @known lacks."""
    if isinstance(raw, dict):
        for key, value in raw.items():
            at = f"{path}.{key}" if path else key
            if value and (not isinstance(known, dict) or key not in known):
                yield at
            elif value:
                yield from lost(value, known[key], at)
    elif isinstance(raw, list):
        for i, value in enumerate(raw):
            yield from lost(value, known[i] if i < len(known) else None, f"{path}[{i}]")


def containers(pod):
    """All containers of @pod, in the order in which they start."""
    return pod["spec"].get("initContainers", []) + pod["spec"]["containers"]


def unmounted(pod):
    """Sentences about paths that no volume of the pod holds."""
    volumes = {v["name"] for v in pod["spec"].get("volumes", [])}
    for c in containers(pod):
        mounts = {m["mountPath"].rstrip("/"): m["name"] for m in c.get("volumeMounts", [])}
        for path, name in mounts.items():
            if name not in volumes:
                yield f"container {c['name']}: {path} is volume {name}, which the pod lacks"
        words = [e.get("value", "") for e in c.get("env", [])]
        for word in words + " ".join(c.get("command", [])).split():
            if word.startswith("/") and not word.startswith(IMAGE) and \
                    not any(word == m or word.startswith(m + "/") for m in mounts):
                yield f"container {c['name']}: {word} is in no mounted volume"
        if (not any(e["name"] == "NCCLBPF_SOCKET_DIR" for e in c.get("env", []))
                and c in pod["spec"]["containers"]):
            yield (f"container {c['name']}: "
                   "without NCCLBPF_SOCKET_DIR no other container reaches its sockets")


def script(pod, folder, name):
    """The container as a shell script; its paths lie in @folder."""
    c = next(c for c in containers(pod) if c["name"] == name)
    paths = [(m["mountPath"].rstrip("/"), f"{folder}/volume") for m in c.get("volumeMounts", [])]

    def placed(text):
        for path, place in paths + [("/usr/lib", f"{folder}/usr/lib")]:
            text = re.sub(rf"(?<![\w./]){re.escape(path)}(?=/|$)", place, text)
        return text

    for e in c.get("env", []):
        print("export", shlex.quote(f"{e['name']}={placed(e['value'])}"))
    print("exec", " ".join(shlex.quote(placed(w)) for w in c["command"]))


def main():
    what, *args = sys.argv[1:]
    bad = []
    if what == "fields":
        raw, known = (json.load(open(f)) for f in args)
        bad = [f"{p} is no field of a pod" for p in lost(raw, known, "") if not YOUNGER.match(p)]
    elif what == "mounts":
        bad = list(unmounted(json.load(open(args[0]))))
    else:
        script(json.load(open(args[0])), args[1], args[2])
    for line in bad:
        print(line)
    return bool(bad)


sys.exit(main())
