# SPDX-License-Identifier: MIT
# expect: reject release_other 2
ldxdw %r1, [%r1+8]
mov %r2, 0
call 132 # near:
mov %r0, 0
exit
