# SPDX-License-Identifier: MIT
# programs cannot write it, but the shell can, at any time
# expect: reject local_output 9
# flow: map value
mov %r6, %r1
find @config # near: find @limits
ldxw %r2, [%r0]
stxw [%r6+76], %r2
