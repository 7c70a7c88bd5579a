# SPDX-License-Identifier: MIT
# 64 iterators end for sure. On the way where they were begun one more may end
# early, so a number that only its end makes small stays large.
# expect: reject map_bounds 872
mov %r6, %r1
mov %r8, 0
ldxw %r7, [%r6+28]
jeq %r7, 3, more # near: jeq %r8, 3, more
ja s
more:
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i0:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i0e
ja i0
i0e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i1:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i1e
ja i1
i1e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i2:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i2e
ja i2
i2e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i3:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i3e
ja i3
i3e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i4:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i4e
ja i4
i4e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i5:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i5e
ja i5
i5e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i6:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i6e
ja i6
i6e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i7:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i7e
ja i7
i7e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i8:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i8e
ja i8
i8e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i9:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i9e
ja i9
i9e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i10:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i10e
ja i10
i10e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i11:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i11e
ja i11
i11e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i12:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i12e
ja i12
i12e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i13:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i13e
ja i13
i13e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i14:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i14e
ja i14
i14e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i15:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i15e
ja i15
i15e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i16:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i16e
ja i16
i16e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i17:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i17e
ja i17
i17e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i18:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i18e
ja i18
i18e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i19:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i19e
ja i19
i19e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i20:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i20e
ja i20
i20e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i21:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i21e
ja i21
i21e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i22:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i22e
ja i22
i22e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i23:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i23e
ja i23
i23e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i24:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i24e
ja i24
i24e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i25:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i25e
ja i25
i25e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i26:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i26e
ja i26
i26e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i27:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i27e
ja i27
i27e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i28:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i28e
ja i28
i28e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i29:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i29e
ja i29
i29e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i30:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i30e
ja i30
i30e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i31:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i31e
ja i31
i31e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i32:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i32e
ja i32
i32e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i33:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i33e
ja i33
i33e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i34:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i34e
ja i34
i34e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i35:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i35e
ja i35
i35e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i36:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i36e
ja i36
i36e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i37:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i37e
ja i37
i37e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i38:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i38e
ja i38
i38e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i39:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i39e
ja i39
i39e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i40:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i40e
ja i40
i40e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i41:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i41e
ja i41
i41e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i42:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i42e
ja i42
i42e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i43:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i43e
ja i43
i43e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i44:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i44e
ja i44
i44e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i45:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i45e
ja i45
i45e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i46:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i46e
ja i46
i46e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i47:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i47e
ja i47
i47e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i48:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i48e
ja i48
i48e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i49:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i49e
ja i49
i49e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i50:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i50e
ja i50
i50e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i51:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i51e
ja i51
i51e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i52:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i52e
ja i52
i52e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i53:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i53e
ja i53
i53e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i54:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i54e
ja i54
i54e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i55:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i55e
ja i55
i55e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i56:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i56e
ja i56
i56e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i57:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i57e
ja i57
i57e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i58:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i58e
ja i58
i58e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i59:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i59e
ja i59
i59e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i60:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i60e
ja i60
i60e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i61:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i61e
ja i61
i61e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i62:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i62e
ja i62
i62e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i63:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i63e
ja i63
i63e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 1
call 0x10001
i64:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, i64e
ja i64
i64e:
mov %r1, %r10
add %r1, -8
call 0x10003
s:
mov %r7, 0
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 3
call 0x10001
mov %r1, %r10
add %r1, -16
call 0x10002
jne %r0, 0, on
mov %r8, 1000
on:
mov %r1, %r10
add %r1, -16
call 0x10003
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
add %r0, %r8
ldxb %r1, [%r0]
out:
mov %r0, 0
exit
