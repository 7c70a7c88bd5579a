# SPDX-License-Identifier: MIT
# expect: reject nullable 6
# The same of a constant key and the array of a CPU.
stw [%r10-4], 4 # near: stw [%r10-4], 3
mov %r2, %r10
add %r2, -4
lddw map %r1, @percpu
call 1
ldxdw %r1, [%r0]
mov %r0, 0
exit
