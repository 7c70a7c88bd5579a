# SPDX-License-Identifier: MIT
# expect: reject nullable 6
# The same of a constant key and the array of a CPU.
lookup @percpu, 4 # near: lookup @percpu, 3
ldxdw %r1, [%r0]
mov %r0, 0
exit
