# SPDX-License-Identifier: MIT
# expect: accept
# Per-CPU arrays, too, hold all of their elements from the start.
mov %r6, %r1
find @percpu
stw [%r6+76], 4
