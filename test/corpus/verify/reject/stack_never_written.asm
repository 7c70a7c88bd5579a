# SPDX-License-Identifier: MIT
# the kernel allows this to privileged loaders; our rule refuses it
# expect: reject stack_uninit 0
# near: stdw [%r10-8], 0
ldxdw %r0, [%r10-8]
exit
