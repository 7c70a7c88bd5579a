# SPDX-License-Identifier: MIT
# expect: reject nullable 7
# The key's upper half is not known, though the bytes below it are 0.
stw [%r10-8], 0
stw [%r10-4], -1
mov %r2, %r10
add %r2, -6 # near: add %r2, -8
lddw map %r1, @counts
call 1
ldxdw %r1, [%r0]
mov %r0, 0
exit
