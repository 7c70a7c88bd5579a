# SPDX-License-Identifier: MIT
# expect: reject nullable 12
# The key lies in a map's value, where anybody may change it.
lookup @counts
stw [%r0], 0
mov %r2, %r0 # near: mov %r2, %r10
mov %r3, 0 # near: add %r2, -4
lddw map %r1, @counts
call 1
ldxdw %r1, [%r0]
mov %r0, 0
exit
