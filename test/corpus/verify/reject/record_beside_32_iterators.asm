# SPDX-License-Identifier: MIT
# record beside 32 iterators
# expect: reject references 164
# opts: held
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -24
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -32
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -40
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -48
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -56
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -64
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -72
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -80
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -88
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -96
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -104
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -112
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -120
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -128
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -136
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -144
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -152
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -160
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -168
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -176
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -184
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -192
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -200
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -208
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -216
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -224
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -232
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -240
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -248
mov %r2, 0
mov %r3, 1
call 0x10001
mov %r1, %r10
add %r1, -256
mov %r2, 0
mov %r3, 1
call 0x10001
lddw map %r1, @ring
mov %r2, 8
mov %r3, 0
call 131 # near:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -16
call 0x10003
mov %r1, %r10
add %r1, -24
call 0x10003
mov %r1, %r10
add %r1, -32
call 0x10003
mov %r1, %r10
add %r1, -40
call 0x10003
mov %r1, %r10
add %r1, -48
call 0x10003
mov %r1, %r10
add %r1, -56
call 0x10003
mov %r1, %r10
add %r1, -64
call 0x10003
mov %r1, %r10
add %r1, -72
call 0x10003
mov %r1, %r10
add %r1, -80
call 0x10003
mov %r1, %r10
add %r1, -88
call 0x10003
mov %r1, %r10
add %r1, -96
call 0x10003
mov %r1, %r10
add %r1, -104
call 0x10003
mov %r1, %r10
add %r1, -112
call 0x10003
mov %r1, %r10
add %r1, -120
call 0x10003
mov %r1, %r10
add %r1, -128
call 0x10003
mov %r1, %r10
add %r1, -136
call 0x10003
mov %r1, %r10
add %r1, -144
call 0x10003
mov %r1, %r10
add %r1, -152
call 0x10003
mov %r1, %r10
add %r1, -160
call 0x10003
mov %r1, %r10
add %r1, -168
call 0x10003
mov %r1, %r10
add %r1, -176
call 0x10003
mov %r1, %r10
add %r1, -184
call 0x10003
mov %r1, %r10
add %r1, -192
call 0x10003
mov %r1, %r10
add %r1, -200
call 0x10003
mov %r1, %r10
add %r1, -208
call 0x10003
mov %r1, %r10
add %r1, -216
call 0x10003
mov %r1, %r10
add %r1, -224
call 0x10003
mov %r1, %r10
add %r1, -232
call 0x10003
mov %r1, %r10
add %r1, -240
call 0x10003
mov %r1, %r10
add %r1, -248
call 0x10003
mov %r1, %r10
add %r1, -256
call 0x10003
mov %r0, 0
exit
