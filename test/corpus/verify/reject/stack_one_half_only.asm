# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 1
stw [%r10-8], 1 # near: stdw [%r10-8], 1
ldxdw %r0, [%r10-8]
exit
