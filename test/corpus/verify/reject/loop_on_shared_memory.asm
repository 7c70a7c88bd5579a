# SPDX-License-Identifier: MIT
# expect: reject endless_loop 7
find @counts
loop:
ldxdw %r1, [%r0]
jne %r1, 0, loop # near: jne %r1, 0, out
