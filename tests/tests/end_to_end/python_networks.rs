//! Networks in Python that change: parts that are set again, others in the places of those that have died, parameters that get other memory.
use alloc_timeline::Category;
use tests::{folder, requested_by_layer, tables};

use super::python_torch::{python, recorded};

#[test]
fn a_part_that_is_set_again_and_again_leaves_nothing() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (ran, _) = recorded(python, folder.path(), "registered_again.py");
    assert_eq!(ran.stdout, "kept 0\n");
}

/// Parameters in the places of others that have died get a layer as well: the gradients of a network whose modules are never called are its
/// layers'. Its names begin with its type, because it is not the first network.
#[test]
fn networks_that_come_and_go_have_layers() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "come_and_go.py");
    let [trained] = tables(&timeline, "trained")[..] else { panic!("no table") };
    let gradients = [("Sequential.0", (64 * 32 + 32) * 4), ("Sequential.1", (32 * 4 + 4) * 4)];
    let gradients = gradients.map(|(layer, bytes)| (layer.to_owned(), bytes)).into();
    assert_eq!(requested_by_layer(&timeline, trained, Category::Gradient), gradients);
}

/// `double()` puts other memory under each parameter and buffer, which is the same layer's, and of twice as many bytes.
#[test]
fn parameters_that_move_keep_their_layers() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "moved.py");
    for (mark, element) in [("named", 4), ("moved", 8)] {
        let [table] = tables(&timeline, mark)[..] else { panic!("no table") };
        let parameters = [("0", 64 * 32 + 32), ("1", 32 + 32), ("2", 32 * 4 + 4)];
        let parameters = parameters.map(|(layer, count)| (layer.to_owned(), count * element)).into();
        assert_eq!(requested_by_layer(&timeline, table, Category::Parameter), parameters, "{mark}");
        // The mean and the variance of each channel, and a count of batches in eight bytes.
        let buffers = [("1".to_owned(), (32 + 32) * element + 8)].into();
        assert_eq!(requested_by_layer(&timeline, table, Category::Buffer), buffers, "{mark}");
    }
}
