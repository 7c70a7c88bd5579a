# SPDX-License-Identifier: MIT
# expect: reject nullable 7
# The element exists, but perhaps the CPU does not.
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @percpu
mov %r3, 100
call 195 # near: call 1
ldxdw %r1, [%r0]
mov %r0, 0
exit
