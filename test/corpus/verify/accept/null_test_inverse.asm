# SPDX-License-Identifier: MIT
# expect: accept
lookup @counts, 4
jne %r0, 0, use
mov %r0, 0
exit
use:
ldxdw %r1, [%r0]
out:
mov %r0, 0
exit
