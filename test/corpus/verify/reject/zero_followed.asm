# SPDX-License-Identifier: MIT
# expect: reject not_pointer 1
mov %r1, 0 # near:
ldxdw %r0, [%r1]
exit
