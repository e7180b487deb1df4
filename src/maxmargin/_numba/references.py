"""NamedTuples of arrays as compiled functions get them: by a pointer to where the arrays are.

Numba hands over each array as seven words. Passes take sixty arrays or more: a call copied hundreds
of words, and LLVM took longer over them than over all else. Behind a pointer, an array is two words
in the caller's memory, its address and its length, and what a function does not read costs nothing.
"""

from __future__ import annotations

import hashlib
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_cast, lower_getattr_generic
from numba.core.pythonapi import NativeValue, unbox
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate, infer_getattr

_WORD = ir.IntType(64)
_ENTRY = ir.LiteralStructType([ir.IntType(8).as_pointer(), _WORD])  # address, length


def _is_plain(kind: types.Type) -> bool:
    return isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C"


class Reference(types.Type):
    """Pointer to the arrays of a NamedTuple, and of those within it, side by side.

    All arrays have one dimension and no gaps; tuples within a tuple come after its arrays.
    """

    def __init__(self, cls: type, kinds: tuple[types.Type, ...]):
        plain = [kind.by_value if isinstance(kind, Reference) else kind for kind in kinds]
        self.by_value = types.BaseTuple.from_types(plain, cls)
        self.fields, self.size = {}, 0  # by name: the first entry, the type
        for name, kind in zip(cls._fields, kinds, strict=True):
            self.fields[name] = (self.size, kind)
            nested = isinstance(kind, Reference)
            if not nested and (self.size != len(self.fields) - 1 or not _is_plain(kind)):
                raise TypeError(f"{cls.__name__}.{name} is not a plain array before all tuples")
            self.size += kind.size if nested else 1
        whole = repr((cls.__module__, cls.__qualname__, cls._fields, self.by_value.name))
        short = hashlib.sha256(whole.encode()).hexdigest()[:16]
        super().__init__(f"{cls.__name__}_{short}")  # LLVM reads the name at every call

    def can_convert_from(self, context: Any, other: types.Type) -> Conversion | None:
        return Conversion.safe if other == self.by_value else None


@register_default(Reference)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _ENTRY.as_pointer())

    def from_argument(self, builder, value):
        # nothing writes there while the function runs, so that loops need not read it again
        value.add_attribute("noalias")
        value.attributes.dereferenceable = 16 * self._fe_type.size
        return value


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference, name):
        return reference.fields[name][1] if name in reference.fields else None


@lower_getattr_generic(Reference)
def _read_field(context, builder, reference, pointer, name):
    place, kind = reference.fields[name]
    entry = cgutils.gep_inbounds(builder, pointer, place)
    if isinstance(kind, Reference):
        return entry
    array = context.make_array(kind)(context, builder)
    data = builder.load(cgutils.gep_inbounds(builder, entry, 0, 0))
    length = builder.load(cgutils.gep_inbounds(builder, entry, 0, 1))
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    array.data = builder.bitcast(data, array.data.type)
    array.nitems = length
    array.itemsize = _WORD(itemsize)
    array.shape = cgutils.pack_array(builder, [length])
    array.strides = cgutils.pack_array(builder, [_WORD(itemsize)])
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


def _write_entry(builder, entry, array):
    data = builder.bitcast(array.data, _ENTRY.elements[0])
    builder.store(data, cgutils.gep_inbounds(builder, entry, 0, 0))
    builder.store(array.nitems, cgutils.gep_inbounds(builder, entry, 0, 1))


def _store(context, builder, reference, value, pointer):
    for k, (place, kind) in enumerate(reference.fields.values()):
        entry = cgutils.gep_inbounds(builder, pointer, place)
        item = builder.extract_value(value, k)
        if isinstance(kind, Reference):
            _store(context, builder, kind, item, entry)
            continue
        _write_entry(builder, entry, context.make_array(kind)(context, builder, item))


@lower_cast(types.BaseNamedTuple, Reference)
def _refer(context, builder, by_value, reference, value):
    """What compiled code makes of slices of its work space, for those that it calls."""
    pointer = cgutils.alloca_once(builder, _ENTRY, size=reference.size)
    _store(context, builder, reference, value, pointer)
    return pointer


@unbox(Reference)
def _unbox(reference, obj, c):
    """Write addresses and lengths; that the arrays have the right types was looked at before."""
    builder, context = c.builder, c.context
    text, any_array = ir.IntType(8).as_pointer(), types.Array(types.int8, 1, "C")
    pointer = cgutils.alloca_once(builder, _ENTRY, size=reference.size)
    found = cgutils.alloca_once(builder, context.get_value_type(any_array))
    failed = cgutils.alloca_once_value(builder, cgutils.false_bit)
    adapt = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.IntType(32), [c.pyapi.pyobj, text]),
        "numba_adapt_ndarray",
    )
    item_of = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(c.pyapi.pyobj, [c.pyapi.pyobj, _WORD]), "PyTuple_GetItem"
    )

    def write(source, reference, first):
        n_arrays = sum(not isinstance(kind, Reference) for _, kind in reference.fields.values())
        with cgutils.for_range(builder, _WORD(n_arrays)) as loop:  # shorter code than one by one
            item = builder.call(item_of, [source, loop.index])
            code = builder.call(adapt, [item, builder.bitcast(found, text)])
            with builder.if_then(cgutils.is_not_null(builder, code), likely=False):
                builder.store(cgutils.true_bit, failed)
            array = context.make_array(any_array)(context, builder, builder.load(found))
            place = builder.add(loop.index, _WORD(first))
            _write_entry(builder, builder.gep(pointer, [place]), array)
        for k, (place, kind) in enumerate(reference.fields.values()):
            if isinstance(kind, Reference):
                write(builder.call(item_of, [source, _WORD(k)]), kind, first + place)

    write(obj, reference, 0)
    is_error = builder.load(failed)
    with builder.if_then(is_error, likely=False):
        c.pyapi.err_set_string("PyExc_TypeError", f"{reference.name} is not a tuple of arrays")
    return NativeValue(pointer, is_error=is_error)
