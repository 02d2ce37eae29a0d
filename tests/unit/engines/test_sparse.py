"""The kernels called directly give what scipy.sparse gives."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hornbeam.data.sparse import Matrix, by_row, summed

FEW = st.integers(1, 6)


@st.composite
def cells(draw, rows=FEW, columns=FEW):
    shape = (draw(rows), draw(columns))
    entries = draw(st.lists(st.integers(0, 3), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    return np.array(entries, dtype=np.int64).reshape(shape)


def ours(full, dtype=np.int64):
    found = sparse.csr_array(full.astype(dtype))
    return Matrix(found.indptr.astype(np.int32), found.indices.astype(np.int32), found.data, full.shape)


@given(cells(), st.data())
def test_products_with_vectors_and_full_matrices(full, data):
    columns = data.draw(cells(st.just(full.shape[1])))
    for dtype in (np.int32, np.int64, np.float64):
        right = columns.astype(dtype)
        assert np.array_equal(ours(full, dtype) @ right, full @ columns)
        assert np.array_equal(ours(full, dtype) @ np.ascontiguousarray(right[:, 0]), full @ columns[:, 0])
    rows = np.arange(full.shape[0])
    assert np.array_equal(ours(full).transposed_times(rows), full.T @ rows)


@given(cells(), st.data())
def test_rows_taken_and_multiplied(full, data):
    rows = np.array(data.draw(st.lists(st.integers(0, full.shape[0] - 1), max_size=8)), dtype=np.int64)
    taken = ours(full).take(rows)
    assert np.array_equal(taken.full(np.int64), full[rows])
    if len(rows):
        other = data.draw(cells(st.just(len(rows)), st.just(full.shape[1])))
        both = taken.times_each(ours(other))
        assert np.array_equal(both.full(np.int64), full[rows] * other)
        assert len(both.ends) == np.count_nonzero(full[rows] * other)


@given(st.integers(1, 4), st.integers(1, 12), st.data())
def test_sums_of_entries_in_any_order(rows, columns, data):
    places = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1), st.integers(1, 9))
    given_entries = data.draw(st.lists(places, max_size=20))
    full = np.zeros((rows, columns), dtype=np.int64)
    for row, column, entry in given_entries:
        full[row, column] += entry
    row, column, entry = np.array(given_entries, dtype=np.int64).reshape(-1, 3).T.copy()
    found, expected = summed(row, column, entry, (rows, columns)), sparse.csr_array(full)
    assert np.array_equal(found.full(np.int64), full)
    assert found.ends.tolist() == expected.indices.tolist()


@given(cells(), st.data())
def test_matrix_products_have_sorted_rows(full, data):
    other = data.draw(cells(st.just(full.shape[1])))
    found = ours(full).product(ours(other))
    expected = sparse.csr_array(full @ other)
    assert np.array_equal(found.full(np.int64), full @ other)
    assert found.ends.tolist() == expected.indices.tolist()
    assert found.starts.tolist() == expected.indptr.tolist()


@given(cells())
def test_entries_by_place(full):
    columns, rows = np.nonzero(full.T)
    entries = full[rows, columns]
    found = by_row(rows.astype(np.int32), columns.astype(np.int32), entries, full.shape)
    assert np.array_equal(found.full(np.int64), full)
    assert found.ends.tolist() == sparse.csr_array(full).indices.tolist()


def test_a_vector_of_another_type_is_refused_not_cut():
    with pytest.raises(ValueError, match="Output dtype not compatible"):
        ours(np.array([[1]]), np.int32) @ np.array([2**40])


@pytest.mark.parametrize("order", ["before", "after"])
def test_scipy_works_beside_the_kernels(order):
    """They work if loaded before or after scipy.sparse, and do not import scipy themselves."""
    imports = ["import hornbeam.data.sparse as kernels", "from scipy import sparse"]
    lines = imports if order == "before" else imports[::-1]
    if order == "before":
        lines = [lines[0], "import sys", "assert 'scipy' not in sys.modules", lines[1]]
    code = [
        *lines,
        "import numpy as np",
        "one = sparse.csr_array(np.eye(3, dtype=np.int64)) @ np.arange(3)",
        "places = np.arange(3, dtype=np.int32)",
        "two = kernels.by_row(places, places, np.ones(3, dtype=np.int64), (3, 3)) @ np.arange(3)",
        "assert one.tolist() == two.tolist() == [0, 1, 2]",
        "assert sparse._sparsetools is not None",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(code)], check=True)
