//! Networks in Python that change: parts that are set again, others in the places of those that have died, parameters that get other memory.
use alloc_timeline::{Category, Snapshot, Timeline};
use tests::{folder, requested, requested_by_layer, rows, tables};

use super::python_torch::{python, recorded};

/// The table of the only mark of this name.
fn table<'a>(timeline: &'a Timeline, mark: &str) -> &'a Snapshot {
    let [table] = tables(timeline, mark)[..] else { panic!("{mark}: not one table") };
    table
}

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
    let trained = table(&timeline, "trained");
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
        let table = table(&timeline, mark);
        let parameters = [("0", 64 * 32 + 32), ("1", 32 + 32), ("2", 32 * 4 + 4)];
        let parameters = parameters.map(|(layer, count)| (layer.to_owned(), count * element)).into();
        assert_eq!(requested_by_layer(&timeline, table, Category::Parameter), parameters, "{mark}");
        // The mean and the variance of each channel, and a count of batches in eight bytes.
        let buffers = [("1".to_owned(), (32 + 32) * element + 8)].into();
        assert_eq!(requested_by_layer(&timeline, table, Category::Buffer), buffers, "{mark}");
    }
}

/// The program's own scopes stay entered whatever PyTorch tells meanwhile, and where it says itself where steps begin, PyTorch tells of none.
#[test]
fn a_programs_own_scopes_and_steps_are_kept() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "own_scopes.py");
    assert_eq!(timeline.steps.len(), 3);
    let table = table(&timeline, "end");
    let of = |requested: u64| {
        let rows = rows(&timeline, table).filter(|(_, row)| row.requested_bytes == requested);
        rows.map(|(scope, _)| (scope.phase.as_str(), scope.layer.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(of(3 * 300_000 * 4), [("mine", "own")]);
    // What comes after the forward pass is in the phase that the package tells, as before.
    assert_eq!(of(200_000 * 4), [("loss", "")]);
}

/// The paths of a second network begin with its type, and with a number where there is one of that type already. A network that another uses has
/// paths of its own, and its parameters have layers.
#[test]
fn networks_are_told_apart() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "several_networks.py");
    let parameters = |mark: &str| {
        let table = table(&timeline, mark);
        requested_by_layer(&timeline, table, Category::Parameter)
    };
    let layers = |of: &[(&str, u64)]| of.iter().map(|(layer, count)| ((*layer).to_owned(), count * 4)).collect();
    let several = [("0", 64 * 64 + 64), ("Sequential#2.0", 64 * 64 + 64), ("Sequential#3.0", 64 * 64 + 64)];
    assert_eq!(parameters("several"), layers(&several));
    let taught = [("Student.own", 64 * 32 + 32), ("Teacher.0", 64 * 512 + 512), ("Teacher.2", 512 * 32 + 32)];
    assert_eq!(parameters("taught"), layers(&[&several[..], &taught].concat()));
}

/// What `register_parametrization` tries belongs to no network, no phase and no step.
#[test]
fn parametrizations_belong_to_their_modules() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "parametrized.py");
    let built = table(&timeline, "built");
    let data: Vec<_> = rows(&timeline, built).filter(|(_, row)| row.requested_bytes == 300_000 * 4).collect();
    let [(scope, row)] = data[..] else { panic!("{data:?}") };
    assert_eq!((scope.phase.as_str(), scope.layer.as_str(), row.category), ("", "", Category::Other));
    let trained = table(&timeline, "trained");
    let weights =
        [("0", 256), ("0.parametrizations.weight", 256 * 256), ("2", 64), ("2.parametrizations.weight", 256 * 64)];
    let weights = weights.map(|(layer, count)| (layer.to_owned(), count * 4)).into();
    assert_eq!(requested_by_layer(&timeline, trained, Category::Parameter), weights);
    assert_eq!(requested_by_layer(&timeline, trained, Category::OptimizerState), weights);
    assert_eq!(timeline.steps.len(), 1);
}

/// The log of the probabilities that cross entropy keeps, of each class of each element.
#[test]
fn a_loss_that_is_a_module_is_in_the_phase_of_the_loss() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "loss_module.py");
    let table = table(&timeline, "lost");
    let kept: Vec<_> = rows(&timeline, table).filter(|(scope, _)| scope.layer == "CrossEntropyLoss").collect();
    let all = kept.iter().map(|(_, row)| row.requested_bytes).sum::<u64>();
    assert!(all >= 64 * 5000 * 4 && kept.iter().all(|(scope, _)| scope.phase == "loss"), "{kept:?}");
    // The batch, which the program gives by its name, and the classes that it should have.
    assert_eq!(requested(table, Category::Input), 64 * 1000 * 4 + 64 * 8);
}

#[test]
fn a_network_of_an_imported_module_has_its_layers() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "imported_network.py");
    let table = table(&timeline, "trained");
    for category in [Category::Parameter, Category::Gradient, Category::OptimizerState] {
        let expected = [("0".to_owned(), (1000 * 500 + 500) * 4)].into();
        assert_eq!(requested_by_layer(&timeline, table, category), expected, "{category}");
    }
}
