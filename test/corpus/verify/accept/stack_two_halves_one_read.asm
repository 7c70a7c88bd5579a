# SPDX-License-Identifier: MIT
# expect: accept
stw [%r10-8], 1
stw [%r10-4], 2
ldxdw %r0, [%r10-8]
exit
