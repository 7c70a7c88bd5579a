# SPDX-License-Identifier: MIT
# There is no number in it, so what would be done with one is not.
# expect: accept
ldxw %r7, [%r1+28]
and %r7, 3
iter_new -8, 5, %r7
iter_next -8
jeq %r0, 0, out
ldxdw %r1, [%r10-256]
out:
iter_end -8
mov %r0, 0
exit
